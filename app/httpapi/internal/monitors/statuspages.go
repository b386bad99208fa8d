package monitors

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/monitor"
)

func (s *server) statusPageRoutes() {
	api.ServeDocument(s.API, api.Document[monitor.StatusPage]{
		Id: "status-page", Path: "/v1/status-pages", One: "a status page", Many: "status pages",
		Listing: "The logos are left out: they come with each page.",
		Saving:  " What it names is shown to everyone.",
		Owner:   func(d *monitor.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:    s.service.SaveStatusPage, Drop: s.service.DeleteStatusPage, Read: s.service.StatusPage, List: s.service.StatusPages,
	})
}
