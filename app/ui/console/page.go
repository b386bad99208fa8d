package console

import (
	"embed"
	"net/http"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/app/ui/internal/asset"
)

//go:embed assets sign-in.html
var files embed.FS

// The assets are read when the first console is made, and not by every process.
var readAssets = sync.OnceValue(func() asset.Set { return asset.Read(files, "assets") })

// templates are the pages of the console itself.
var templates = frame.NewTemplates(frame.Set{Files: files})

// page is one request of a person, with the API of the node under that person's token.
type page struct {
	*frame.Page
	c   *Console
	api API
}

func (c *Console) newPage(w http.ResponseWriter, r *http.Request) *page {
	p := &page{Page: c.site.NewPage(w, r), c: c}
	p.Of(p, templates)
	return p
}

// enter finds the token of a secret, and the namespace that the page shows.
func (p *page) enter(secret string) (err error) {
	if p.api, err = p.c.opt.API(secret); err != nil {
		return err
	}
	who, err := p.api.Whoami(p.R.Context())
	if err != nil {
		return err
	}
	p.Page.Enter(who)
	p.Fill = p.fill
	if strings.Contains(p.R.Header.Get("Accept"), "text/html") && p.R.Method == http.MethodGet && p.R.Header.Get(fresh.Asks) == "" {
		_, p.Since, _ = p.api.Events(p.R.Context(), p.Namespace, "", 0) // before anything is read; a token that may not watch has none
	}
	return nil
}

// handler shows a page or does what a form asks for. An error of it
// becomes a page with the API's status.
type handler func(p *page) error
