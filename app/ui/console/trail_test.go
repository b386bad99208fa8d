package console_test

import (
	"strings"
	"testing"
)

// Pages below a list say where they stand: the namespace, the list, and of a part the thing.
func TestBreadcrumbs(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	for page, want := range map[string]string{
		"/tasks/hello":                       "default › Tasks",
		"/tasks/hello/edit":                  "default › Tasks › hello",
		"/schedules/hourly":                  "default › Schedules",
		"/schedules/hourly/edit":             "default › Schedules › hourly",
		"/schedules/hourly/trigger":          "default › Schedules › hourly",
		"/monitors/shop":                     "default › Monitors",
		"/monitors/shop/results":             "default › Monitors › shop",
		"/monitors/shop/edit":                "default › Monitors › shop",
		"/queues/default":                    "default › Queues",
		"/cycles/nightly":                    "default › Cycles",
		"/calendars/nights":                  "default › Calendars",
		"/settings/channels/-new":            "default › Channels",
		"/settings/hooks/billing":            "default › Hooks",
		"/settings/hooks/billing/edit":       "default › Hooks › billing",
		"/tasks/-new?namespace=team-limited": "team-limited › Tasks",
		"/monitors/shop/settings":            "default › Monitors › shop",
	} {
		status, body := v.get(page)
		_, trail, found := strings.Cut(body, `<nav class="trail" aria-label="Breadcrumb">`)
		trail, _, _ = strings.Cut(trail, "</nav>")
		var text strings.Builder
		inTag := false
		for _, r := range trail {
			switch {
			case r == '<':
				inTag = true
			case r == '>':
				inTag = false
			case !inTag:
				text.WriteRune(r)
			}
		}
		if status != 200 || !found || text.String() != want {
			t.Errorf("%s: %d, %q, want %q", page, status, text.String(), want)
		}
	}
	b := s.at("/schedules/hourly/edit")
	b.Emulate("light", 390)
	b.Visit(s.url + "/schedules/hourly/edit")
	picture(b, "trail-phone")
	b.Layout()
	b.Axe()
}
