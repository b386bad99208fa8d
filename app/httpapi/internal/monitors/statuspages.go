package monitors

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/public"
)

func (s *server) statusPageRoutes() {
	api.ServeDocument(s.API, api.Document[public.StatusPage]{
		Id: "status-page", Path: "/v1/status-pages", One: "a status page", Many: "status pages",
		Listing: `A logo is the word kept here, and comes with its page. A page that is saved with that word keeps its logo.`,
		Saving:  " What it names is shown to everyone.",
		Owner:   func(d *public.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:    s.service.SaveStatusPage, Drop: s.service.DeleteStatusPage, Read: s.service.StatusPage, List: s.service.StatusPages,
	})
}
