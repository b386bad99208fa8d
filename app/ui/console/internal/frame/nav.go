package frame

import (
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

// NavItem is an entry of the navigation. It is shown once there is a route.
type NavItem struct {
	Name  string
	Path  string // without its first slash
	Key   string // the letter that goes there after g; empty: none
	Icon  string
	Group string // it stands under; empty: above all groups
}

// Navigation is all of it, in order.
var Navigation = []NavItem{
	{"Overview", "", "h", "house", ""},
	{"Schedules", "schedules", "s", "calendar-clock", "Run"},
	{"Jobs", "jobs", "j", "list-checks", "Run"},
	{"Dead jobs", "dead", "d", "skull", "Run"},
	{"Tasks", "tasks", "t", "list-todo", "Run"},
	{"Cycles", "cycles", "c", "repeat", "Run"},
	{"Programs", "programs", "p", "package", "Run"},
	{"Monitors", "monitors", "m", "activity", "Watch"},
	{"Incidents", "incidents", "i", "siren", "Watch"},
	{"Notifications", "alerts", "n", "bell", "Watch"},
	{"Status pages", "status-pages", "", "globe", "Watch"},
	{"Workers", "workers", "w", "server", "System"},
	{"Queues", "queues", "q", "layers", "System"},
	{"Audit", "audit", "a", "scroll-text", "System"},
	{"Settings", "settings", "e", "settings", "System"},
}

// navWithin are pages that stand under the entry of others.
var navWithin = map[string]string{"forecast": "schedules", "calendars": "settings", "alert-rules": "settings"}

// NavLink is an entry of the navigation as a page shows it.
type NavLink struct {
	Name, Key, Link, Icon string
	Here                  bool // the page belongs to it
	Count                 *NavCount
}

// NavCount is a number beside an entry. It is hidden while it is none.
type NavCount struct {
	ID, Text, Words, Tone string
}

// NavGroup is entries under one word.
type NavGroup struct {
	Name  string
	Links []NavLink
}

// NavCounts are how many things there are that matter now, by the path of the
// entry whose page shows them.
type NavCounts map[string]core.Counted

// Texts are the numbers as they are shown; those of none are empty.
func (c NavCounts) Texts() map[string]string {
	texts := map[string]string{}
	for path := range navCounted {
		texts[path] = ""
		if n := c[path]; n.Count > 0 {
			texts[path] = parts.Counted(n)
		}
	}
	return texts
}

// navCounted are the entries with a number: its words and its tone.
var navCounted = map[string]struct{ words, tone string }{
	"jobs": {"running", "busy"}, "dead": {"failed", "bad"}, "monitors": {"down", "bad"}, "alerts": {"not delivered within 24 hours", "bad"},
}

// Nav is the navigation, without its groups.
func (p *Page) Nav() (all []NavLink) {
	for _, g := range p.NavGroups() {
		all = append(all, g.Links...)
	}
	return all
}

// NavGroups is the navigation.
func (p *Page) NavGroups() (groups []NavGroup) {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.R.URL.Path, "/"), "/")
	if entry, within := navWithin[first]; within {
		first = entry
	}
	texts := p.Counts.Texts()
	for _, item := range p.Site.Nav {
		link := p.Link()
		if item.Path != "" {
			link = p.Link(item.Path)
		}
		l := NavLink{Name: item.Name, Key: item.Key, Link: link, Icon: item.Icon, Here: first == item.Path}
		if c, counted := navCounted[item.Path]; counted {
			l.Count = &NavCount{ID: "count-" + item.Path, Text: texts[item.Path], Words: c.words, Tone: c.tone}
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != item.Group {
			groups = append(groups, NavGroup{Name: item.Group})
		}
		g := &groups[len(groups)-1]
		g.Links = append(g.Links, l)
	}
	return groups
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
	{"Limits", "settings/limits", access.ScopeRead, false},
	{"Alert rules", "alert-rules", access.ScopeRead, false},
	{"Channels", "settings/channels", access.ScopeRead, false},
	{"Hooks", "settings/hooks", access.ScopeRead, false},
	{"Maintenance", "settings/windows", access.ScopeRead, false},
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
		tabs = append(tabs, parts.NewTab(s.Name, linkTo(p, s.Path), here, ""))
	}
	return tabs
}

// Place is a page that stands for itself.
type Place struct{ Name, Link, Icon string }

// newPages are the forms for something new.
var newPages = []struct {
	Name, Path string
	Scope      access.Scope
	Everywhere bool
}{
	{"New task", "tasks/-new", access.ScopeAdmin, false},
	{"New schedule", "schedules/-new", access.ScopeAdmin, false},
	{"New monitor", "monitors/-new", access.ScopeAdmin, false},
	{"New cycle", "cycles/-new", access.ScopeAdmin, false},
	{"New program", "programs/-new", access.ScopeAdmin, false},
	{"New queue", "queues/-new", access.ScopeAdmin, true},
	{"New calendar", "calendars/-new", access.ScopeAdmin, false},
	{"New hook", "settings/hooks/-new", access.ScopeAdmin, false},
	{"Enqueue a job", "jobs/-new", access.ScopeOperate, false},
}

// Places are all pages that the reader may open without naming a thing.
func (p *Page) Places() (all []Place) {
	seen := map[string]bool{}
	add := func(name, path, icon string) {
		if !seen[path] && (path == "" || p.Site.Pages["GET /"+path]) {
			seen[path] = true
			all = append(all, Place{name, linkTo(p, path), icon})
		}
	}
	for _, item := range p.Site.Nav {
		if item.Path == "" {
			all = append(all, Place{item.Name, p.Link(), item.Icon})
			continue
		}
		add(item.Name, item.Path, item.Icon)
	}
	add("Forecast", "forecast", "clock")
	for _, s := range settingsPages {
		if p.Can(s.Scope) && (!s.Everywhere || p.CanEverywhere(s.Scope)) {
			add(s.Name, s.Path, "settings")
		}
	}
	for _, n := range newPages {
		if p.Can(n.Scope) && (!n.Everywhere || p.CanEverywhere(n.Scope)) {
			add(n.Name, n.Path, "plus")
		}
	}
	return all
}

// NamespaceLinks are the namespaces to choose from, for people who may see all.
// The object of a page belongs to one namespace, so the links lead to the first
// page of the area.
func (p *Page) NamespaceLinks() (links []NavLink) {
	names := []string{core.AnyNamespace, core.DefaultNamespace}
	for _, name := range append(p.Namespaces, p.Namespace) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	area := ""
	for _, g := range p.NavGroups() {
		for _, l := range g.Links {
			if l.Here {
				area = l.Link
			}
		}
	}
	for _, name := range names {
		q := *p
		q.Namespace = name
		link := q.Link()
		if area != "" {
			link = p.With(area, "namespace", "")
			if q.Elsewhere() {
				link = p.With(area, "namespace", name)
			}
		}
		links = append(links, NavLink{Name: map[string]string{core.AnyNamespace: "all namespaces"}[name], Link: link, Here: name == p.Namespace})
		if l := &links[len(links)-1]; l.Name == "" {
			l.Name = name
		}
	}
	return links
}

// Styles are the style sheets of all pages, in order.
var Styles = []string{"roles.css", "style.css", "parts.css", "fleet.css", "jobs.css", "schedules.css", "monitors.css"}
