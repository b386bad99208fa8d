package console

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry"
)

type settingsAPI interface {
	Health(ctx context.Context) (belfry.Health, error)
}

var settingsRoutes = []route{{"GET /settings", settingsPage}}

type settingsData struct {
	belfry.Health
	Behind bool // the clock of the node is not that of the database
}

func settingsPage(p *page) error {
	h, err := p.api.Health(p.r.Context())
	if err != nil {
		return err
	}
	return p.show("settings", settingsData{h, h.ClockSkew.Abs() > belfry.MaxClockSkew})
}

// settingsPages are the pages below the settings, in the order of their tabs.
// Those of others show up once they are there.
var settingsPages = []struct {
	Name, Path string
	Scope      belfry.Scope
}{
	{"About", "settings", belfry.ScopeRead},
	{"Tokens", "settings/tokens", belfry.ScopeAdmin},
	{"Secrets", "settings/secrets", belfry.ScopeRead},
	{"Channels", "settings/channels", belfry.ScopeRead},
	{"Alert rules", "alert-rules", belfry.ScopeRead},
	{"Maintenance windows", "settings/windows", belfry.ScopeRead},
	{"Calendars", "calendars", belfry.ScopeRead},
	{"Status pages", "status-pages", belfry.ScopeRead},
}

// SettingsTabs lead to all settings.
func (p *page) SettingsTabs() []tab {
	at := strings.TrimPrefix(p.r.URL.Path, "/")
	var tabs []tab
	for _, s := range settingsPages {
		if !p.c.pages["GET /"+s.Path] || !p.Can(s.Scope) {
			continue
		}
		parts := []any{}
		for part := range strings.SplitSeq(s.Path, "/") {
			parts = append(parts, part)
		}
		here := at == s.Path || s.Path != "settings" && strings.HasPrefix(at, s.Path+"/")
		tabs = append(tabs, newTab(s.Name, p.Link(parts...), here, ""))
	}
	return tabs
}

// HealthCommand is the health, without this page.
func (p *page) HealthCommand() command { return p.Command("GET", "/v1/health", "", "doctor") }

// Metrics is where Prometheus reads.
func (p *page) Metrics() string { return p.c.prefix + "/metrics" }
