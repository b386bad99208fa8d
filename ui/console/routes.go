package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// handler shows a page or does what a form asks for. What it returns as an
// error becomes a page with the API's status.
type handler func(p *page) error

// route is a page or an action, for who is signed in.
type route struct {
	pattern string // as http.ServeMux has it
	handle  handler
}

// routes is everything but assets and signing in. Tests add a page with all parts.
var routes = func() []route {
	return slices.Concat(
		homeRoutes,
		queueRoutes,
		cycleRoutes, cycleFormRoutes, workerRoutes, settingsRoutes, databaseRoutes, tokenRoutes, joinTokenRoutes, secretRoutes, programRoutes, uploadRoutes,
		jobsRoutes, jobRoutes, deadRoutes, auditRoutes, taskRoutes,
		schedulesRoutes, scheduleRoutes, scheduleFormRoutes, backfillRoutes, forecastRoutes, calendarRoutes,
		monitorRoutes, incidentRoutes, versionRoutes, monitorFormRoutes, statusPageRoutes, channelRoutes, windowRoutes, alertRoutes,
	)
}

// navItem is an entry of the navigation. It is shown once there is a route.
type navItem struct {
	Name string
	Path string // without its first slash
	Key  string // the letter that goes there after g; empty: none
}

var navigation = []navItem{
	{"Home", "", "h"},
	{"Schedules", "schedules", "s"},
	{"Jobs", "jobs", "j"},
	{"Tasks", "tasks", "t"},
	{"Monitors", "monitors", "m"},
	{"Cycles", "cycles", "c"},
	{"Programs", "programs", "p"},
	{"Workers", "workers", "w"},
	{"Queues", "queues", "q"},
	{"Dead jobs", "dead", "d"},
	{"Audit", "audit", "a"},
	{"Settings", "settings", "e"},
}

// navWithin are pages that stand under the entry of others.
var navWithin = map[string]string{
	"forecast": "schedules", "calendars": "settings", "status-pages": "settings", "alert-rules": "settings",
	"incidents": "monitors", "alerts": "monitors",
}

func (c *Console) register(all []route) {
	there := map[string]bool{}
	for _, rt := range all {
		c.mux.HandleFunc(rt.pattern, c.signedIn(rt.handle))
		there[rt.pattern] = true
	}
	for _, item := range navigation {
		if there["GET /"+item.Path] || item.Path == "" {
			c.nav = append(c.nav, item)
		}
	}
	c.pages = there
	c.mux.HandleFunc("GET /assets/", c.serveAsset)
	c.mux.HandleFunc("GET /sign-in", c.showSignIn)
	c.mux.HandleFunc("POST /sign-in", c.signIn)
	if c.opt.Provider != nil {
		c.mux.HandleFunc("GET /sign-in/oidc", c.leave)
		c.mux.HandleFunc("GET /sign-in/oidc/callback", c.arrive)
	}
	c.mux.HandleFunc("POST /sign-out", c.signOut)
	c.mux.HandleFunc("POST /theme", c.setTheme)
	c.mux.HandleFunc("GET /live", c.signedIn(live))
	c.mux.HandleFunc("/", c.signedIn(func(p *page) error {
		return core.Errorf(core.NotFound, "there is nothing at %s", p.r.URL.Path).WithHint("start again at the home page")
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
	for _, rt := range routes() {
		if strings.HasPrefix(rt.pattern, "GET ") {
			patterns = append(patterns, rt.pattern)
		}
	}
	return patterns
}
