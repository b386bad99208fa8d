package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/app/ui/internal/idp"
	"github.com/belfry-run/belfry/core"
)

// What was typed into a form outlives the session in which it was typed.
func TestTypedFieldsSurviveAnEndedSession(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	type typed struct{ selector, value string }
	for _, tt := range []struct {
		path   string
		before func(b *browser.Tab)
		typed  []typed
		save   string
		says   string
	}{
		{path: "/schedules/-new", save: "button.main[value=save]", says: "Created schedule weekly.",
			typed: []typed{{"#f-name", "weekly"}, {"#f-task", "hello"}, {"#rule-text-1", "30 2 * * MON"}, {"#f-zone", "Europe/Sofia"}, {"#f-overlap", "allow"}, {"#f-input", `{"a": 1}`}}},
		{path: "/schedules/-new", save: "button.main[value=save]", says: "Created schedule twice.",
			before: func(b *browser.Tab) { put(b, "#rule-text-1", "0 1 * * *"); b.Follow("button[value=rule]") },
			typed:  []typed{{"#f-name", "twice"}, {"#f-task", "hello"}, {"#rule-text-1", "30 2 * * MON"}, {"#rule-text-2", "0 4 * * *"}}},
		{path: "/tasks/-new", save: "button.main", says: "Created task rows.",
			typed: []typed{{"#f-name", "rows"}, {"#f-command-shell", "env"}, {"#f-command-env-name-1", "A"}, {"#f-command-env-value-1", "1"}, {"#f-command-env-name-3", "B"}, {"#f-command-env-value-3", "2"}, {"#f-command-env-name-4", "C"}, {"#f-command-env-value-4", "3"}}},
		{path: "/monitors/-new?kind=tcp", save: "button.main", says: "Created monitor db, and its first check begins.",
			typed: []typed{{"#f-name", "db"}, {"#f-check-tcp-address", "db.example.com:5432"}, {"#f-every", "30s"}, {"#f-confirm-failures", "5"}, {"#f-muted", "true"}, {"#f-tags", "core"}}},
		{path: "/monitors/shop/edit", save: "button.main", says: "Monitor shop is saved.",
			typed: []typed{{"#f-every", "21s"}, {"#f-description", "The shop"}}},
		{path: "/cycles/nightly/edit", save: "button.main[value=save]", says: "Cycle nightly is saved.",
			before: func(b *browser.Tab) { b.Follow("button[value='add 0']") },
			typed:  []typed{{"#f-description", "Of the night"}, {"#f-cycle-members-3-task", "hello"}}},
		{path: "/calendars/nights/edit", save: "button.main[value=save]", says: "Calendar nights is saved.",
			typed: []typed{{"#f-description", "Quiet"}, {"#text-2", "12-24..12-27"}}},
	} {
		t.Run(tt.path, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			b := s.at(tt.path)
			if tt.before != nil {
				tt.before(b)
			}
			for _, f := range tt.typed {
				put(b, f.selector, f.value)
			}
			b.Call("Network.clearBrowserCookies", nil, nil)
			b.Follow(tt.save)
			b.Quiet(s.url, http.StatusUnauthorized)
			b.Type("#token", s.admin)
			b.Follow("button.main")
			b.Until(`!!document.querySelector(` + "`" + tt.typed[0].selector + "`" + `)`)
			for _, f := range tt.typed {
				if f.value == "true" {
					b.Until(`document.querySelector('` + f.selector + `').checked`)
				} else {
					b.Until("document.querySelector(`" + f.selector + "`)?.value === `" + f.value + "`")
				}
			}
			b.Quiet(s.url, http.StatusUnauthorized)
			b.Follow(tt.save)
			b.Shows(tt.says)
		})
	}
	if sc := must(s.Schedule(t.Context(), "default", "twice"))(s); len(sc.Rules) != 2 {
		t.Errorf("%+v", sc.Rules)
	}
	if m := must(s.Monitor(t.Context(), "default", "shop"))(s); m.Every.String() != "21s" || m.Description != "The shop" {
		t.Errorf("%+v", m.Monitor)
	}
}

// A person who signs in through a provider gets a form back as well: with scripts in the same tab, without them from the page
// that waits beside the tab of the provider.
func TestTypedFieldsSurviveASignInThroughAProvider(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	p.Ask = true
	s := newSiteWith(t, p)
	for _, scripts := range []bool{true, false} {
		name := fmt.Sprintf("scripts-%t", scripts)
		t.Run(name, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			b := browser.Open(t)
			b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !scripts}, nil)
			b.Visit(s.url + "/tasks/-new")
			b.Follow("#provider")
			b.Follow("#yes")
			put(b, "#f-name", name)
			put(b, "#f-command-shell", "echo typed")
			forgetSession(b)
			b.Follow("button.main")
			b.Shows("Your session has ended: nothing was saved.")
			if scripts {
				b.Follow("#provider")
				b.Follow("#yes")
			} else {
				b.Shows("This opens another tab.")
				back := b.Opened("#provider")
				b.Follow("#yes")
				b.Shows("ann@example.com")
				back()
				b.Follow("[data-kept] button")
			}
			b.Until(`document.querySelector("#f-command-shell").value === "echo typed"`)
			if _, err := s.Task(t.Context(), "default", name); core.CodeOf(err) != core.NotFound {
				t.Errorf("before it is sent again, the task is there: %v", err)
			}
			b.Follow("button.main")
			b.Shows("Created task " + name + ".")
			if got := must(s.Task(t.Context(), "default", name))(s); got.Command.Shell != "echo typed" {
				t.Errorf("saved %+v", got.Command)
			}
		})
	}
}

// forgetSession lets a browser forget its session, as it does when that is over.
func forgetSession(b *browser.Tab) {
	b.T.Helper()
	var kept struct {
		Cookies []struct{ Name, Domain, Path string }
	}
	b.Call("Network.getCookies", nil, &kept)
	for _, c := range kept.Cookies {
		if strings.HasPrefix(c.Name, "belfry_session") && !strings.HasSuffix(c.Name, "-form") {
			b.Call("Network.deleteCookies", map[string]any{"name": c.Name, "domain": c.Domain, "path": c.Path}, nil)
		}
	}
}

// What somebody else saved while one was signed out is told, too.
func TestAnEndedSessionReportsEditsOfOthers(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/shop/edit")
	put(b, "#f-description", "mine")
	m := must(s.Monitor(t.Context(), "default", "shop"))(s).Monitor
	m.Every = core.Duration(77e9)
	must(s.UpdateMonitor(t.Context(), m))(s)
	b.Call("Network.clearBrowserCookies", nil, nil)
	b.Follow("button.main")
	b.Type("#token", s.admin)
	b.Follow("button.main")
	b.Until(`document.querySelector('#f-description')?.value === 'mine'`)
	s.refused(b, "button.main", http.StatusConflict, "Changed by", "taken over", "Saving it keeps the other edit")
	b.Layout()
	b.Axe()
	picture(b, "monitor-clash")
	s.sends(b, "button.main", "Monitor shop is saved.")
	if m = must(s.Monitor(t.Context(), "default", "shop"))(s).Monitor; m.Description != "mine" || m.Every != core.Duration(77e9) {
		t.Errorf("saved %q every %s", m.Description, m.Every)
	}
}
