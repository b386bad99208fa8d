package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/alerting"
	"github.com/belfry-run/belfry/app/ui/console/audit"
	"github.com/belfry-run/belfry/app/ui/console/calendars"
	"github.com/belfry-run/belfry/app/ui/console/cycles"
	"github.com/belfry-run/belfry/app/ui/console/design"
	"github.com/belfry-run/belfry/app/ui/console/find"
	"github.com/belfry-run/belfry/app/ui/console/home"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/jobs"
	"github.com/belfry-run/belfry/app/ui/console/monitors"
	"github.com/belfry-run/belfry/app/ui/console/programs"
	"github.com/belfry-run/belfry/app/ui/console/queues"
	"github.com/belfry-run/belfry/app/ui/console/schedules"
	"github.com/belfry-run/belfry/app/ui/console/settings"
	"github.com/belfry-run/belfry/app/ui/console/statuspages"
	"github.com/belfry-run/belfry/app/ui/console/tasks"
	"github.com/belfry-run/belfry/app/ui/console/windows"
	"github.com/belfry-run/belfry/app/ui/console/workers"
	"github.com/belfry-run/belfry/core"
)

// area is the pages of one package, for the whole API.
type area = frame.Area[API]

// areas is everything but assets and signing in.
func areas() []area {
	return []area{
		of(home.Area(), func(api API) home.API { return api }),
		of(find.Area(), func(api API) find.API { return api }),
		of(queues.Area(), func(api API) queues.API { return api }),
		of(cycles.Area(), func(api API) cycles.API { return api }),
		of(workers.Area(), func(api API) workers.API { return api }),
		of(settings.Area(), func(api API) settings.API { return api }),
		of(programs.Area(), func(api API) programs.API { return api }),
		of(jobs.Area(), func(api API) jobs.API { return api }),
		of(audit.Area(), func(api API) audit.API { return api }),
		of(tasks.Area(), func(api API) tasks.API { return api }),
		of(schedules.Area(), func(api API) schedules.API { return api }),
		of(calendars.Area(), func(api API) calendars.API { return api }),
		of(monitors.Area(), func(api API) monitors.API { return api }),
		of(statuspages.Area(), func(api API) statuspages.API { return api }),
		of(alerting.Area(), func(api API) alerting.API { return api }),
		of(windows.Area(), func(api API) windows.API { return api }),
		of(design.Area(), func(api API) design.API { return api }),
	}
}

// of lets an area ask its part of the API.
func of[A any](narrow frame.Area[A], part func(API) A) area {
	wide := area{Routes: map[string]func(*frame.Page, API) error{}, Uploads: narrow.Uploads}
	for pattern, handle := range narrow.Routes {
		wide.Routes[pattern] = func(p *frame.Page, api API) error { return handle(p, part(api)) }
	}
	return wide
}

func (c *Console) register(all []area) {
	there := map[string]bool{}
	for _, a := range all {
		for pattern, handle := range a.Routes {
			c.mux.HandleFunc(pattern, c.signedIn(func(p *page) error { return handle(p.Page, p.api) }))
			there[pattern] = true
		}
		for _, pattern := range a.Uploads {
			c.uploads[pattern] = true
		}
	}
	for _, item := range frame.Navigation {
		if there["GET /"+item.Path] || item.Path == "" {
			c.site.Nav = append(c.site.Nav, item)
		}
	}
	c.site.Pages = there
	c.mux.HandleFunc("GET /assets/", c.serveAsset)
	c.mux.HandleFunc("GET /sign-in", c.showSignIn)
	c.mux.HandleFunc("POST /sign-in", c.signIn)
	if c.opt.Provider != nil {
		c.mux.HandleFunc("GET /sign-in/oidc", c.leave)
		c.mux.HandleFunc("GET /sign-in/oidc/callback", c.arrive)
	}
	c.mux.HandleFunc("POST /sign-out", c.signOut)
	c.mux.HandleFunc("POST /theme", c.site.SetTheme)
	c.mux.HandleFunc("POST /times", c.site.SetTimes)
	c.mux.HandleFunc("GET /live", c.signedIn(live))
	c.mux.HandleFunc("/", c.signedIn(func(p *page) error {
		return core.Errorf(core.NotFound, "there is nothing at %s", p.R.URL.Path).WithHint("start again at the home page")
	}))
}

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	if !readAssets().Serve(w, r, strings.TrimPrefix(r.URL.Path, "/assets/")) {
		http.NotFound(w, r)
	}
}

// Pages are the patterns of all pages, as [http.ServeMux] has them, for tests
// and measures that must not forget one.
func Pages() (patterns []string) {
	for _, a := range areas() {
		for pattern := range a.Routes {
			if strings.HasPrefix(pattern, "GET ") {
				patterns = append(patterns, pattern)
			}
		}
	}
	slices.Sort(patterns)
	return patterns
}
