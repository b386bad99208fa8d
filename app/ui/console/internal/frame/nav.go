package frame

import (
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
)

// NavItem is an entry of the navigation. It is shown once there is a route.
type NavItem struct {
	Name string
	Path string // without its first slash
	Key  string // the letter that goes there after g; empty: none
}

// Navigation is all of it, in order.
var Navigation = []NavItem{
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

// NavLink is an entry of the navigation as a page shows it.
type NavLink struct {
	Name, Key, Link string
	Here            bool // the page belongs to it
}

// Nav is the navigation.
func (p *Page) Nav() []NavLink {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.R.URL.Path, "/"), "/")
	if entry, within := navWithin[first]; within {
		first = entry
	}
	var all []NavLink
	for _, item := range p.Site.Nav {
		link := p.Link()
		if item.Path != "" {
			link = p.Link(item.Path)
		}
		all = append(all, NavLink{Name: item.Name, Key: item.Key, Link: link, Here: first == item.Path})
	}
	return all
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
func (p *Page) SettingsTabs() []parts.Tab {
	at := strings.TrimPrefix(p.R.URL.Path, "/")
	var tabs []parts.Tab
	for _, s := range settingsPages {
		if !p.Site.Pages["GET /"+s.Path] || !p.Can(s.Scope) || s.Everywhere && !p.CanEverywhere(s.Scope) {
			continue
		}
		here := at == s.Path || s.Path != "settings" && strings.HasPrefix(at, s.Path+"/")
		tabs = append(tabs, parts.NewTab(s.Name, p.LinkTo(s.Path), here, ""))
	}
	return tabs
}
