package console

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/view"
)

type settingsAPI interface {
	Health(ctx context.Context) (view.Health, error)
}

var settingsRoutes = []route{{"GET /settings", settingsPage}}

type settingsData struct {
	view.Health
	Behind bool // the clock of the node is not that of the database
}

func settingsPage(p *page) error {
	h, err := p.api.Health(p.r.Context())
	if err != nil {
		return err
	}
	return p.show("settings", settingsData{h, h.ClockSkew.Abs() > view.MaxClockSkew})
}

// settingsPages are the pages below the settings, in the order of their tabs.
// Those of others show up once they are there.
var settingsPages = []struct {
	Name, Path string
	Scope      access.Scope
	Everywhere bool // only for a token of all namespaces
}{
	{"About", "settings", access.ScopeRead, false},
	{"Database", "settings/database", access.ScopeAdmin, true},
	{"Tokens", "settings/tokens", access.ScopeAdmin, false},
	{"Join tokens", "settings/join-tokens", access.ScopeAdmin, false},
	{"Secrets", "settings/secrets", access.ScopeRead, false},
	{"Alert rules", "alert-rules", access.ScopeRead, false},
	{"Channels", "settings/channels", access.ScopeRead, false},
	{"Maintenance", "settings/windows", access.ScopeRead, false},
	{"Status pages", "status-pages", access.ScopeRead, false},
	{"Calendars", "calendars", access.ScopeRead, false},
}

// SettingsTabs lead to all settings, for the part "settings-nav".
func (p *page) SettingsTabs() []tab {
	at := strings.TrimPrefix(p.r.URL.Path, "/")
	var tabs []tab
	for _, s := range settingsPages {
		if !p.c.pages["GET /"+s.Path] || !p.Can(s.Scope) || s.Everywhere && !p.CanEverywhere(s.Scope) {
			continue
		}
		here := at == s.Path || s.Path != "settings" && strings.HasPrefix(at, s.Path+"/")
		tabs = append(tabs, newTab(s.Name, p.linkTo(s.Path), here, ""))
	}
	return tabs
}

// linkTo is [page.Link] of a whole path.
func (p *page) linkTo(path string) string {
	var parts []any
	for part := range strings.SplitSeq(path, "/") {
		parts = append(parts, part)
	}
	return p.Link(parts...)
}

// HealthCommand is the health, without this page.
func (p *page) HealthCommand() command { return p.Command("GET", "/v1/health", "", "doctor") }

// Metrics is where Prometheus reads.
func (p *page) Metrics() string { return p.c.prefix + "/metrics" }
