package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry"
)

// everyPage is what TestEveryPage looks at, after site.fill: each page in both
// themes and on a phone. Says is what a person must be able to read.
var everyPage = []struct {
	name, path string
	says       []string
	status     int          // default: 200
	scope      belfry.Scope // that the page takes, if it is more than to read
}{
	{name: "home", path: "/", says: []string{"Running now", "hello", "the disk is full", "Next 24 hours", "hourly", "shop"}},
	{name: "home-empty", path: "/?namespace=nobody", says: []string{"Nothing happens here yet.", "belfry task create"}},
	{name: "home-all", path: "/?namespace=*", says: []string{"All namespaces", "the disk is full"}},
	{name: "queues", path: "/queues", says: []string{"default", "checks", "system", "active"}},
	{name: "queue", path: "/queues/default", says: []string{"Jobs that name no other queue", "Ready", "3", "Pause"}},
	{name: "cycles", path: "/cycles", says: []string{"nightly", "report", "1 of 3", "New cycle"}},
	{name: "cycles-empty", path: "/cycles?namespace=nobody", says: []string{"There is no cycle yet.", "belfry cycle create"}},
	{name: "cycle", path: "/cycles/nightly", says: []string{"Under way", "1 of 3", "fetch", "It has never succeeded", "At most every", "Skip", "Cancel the run"}},
	{name: "cycle-new", path: "/cycles/new", says: []string{"New cycle", "Members, in the order", "Save"}, scope: belfry.ScopeAdmin},
	{name: "cycle-edit", path: "/cycles/nightly/edit", says: []string{"Edit nightly", "Stagger"}, scope: belfry.ScopeAdmin},
	{name: "no-cycle", path: "/cycles/nothing", says: []string{"Not here"}, status: 404},

	{name: "parts", path: "/parts", says: []string{"Latency, stacked", "has no minute 61", "1 min 30 s", "handed back"}},
	{name: "not-here", path: "/nowhere", says: []string{"Not here", "Go back"}, status: 404},
	{name: "no-queue", path: "/queues/nothing", says: []string{"Not here"}, status: 404},
}

func TestEveryPage(t *testing.T) {
	s := newSite(t)
	s.fill()
	b := s.tab(s.admin)
	for _, tt := range everyPage {
		t.Run(tt.name, func(t *testing.T) {
			b.T = t
			b.Emulate("light", 1200)
			b.Visit(s.url + tt.path)
			b.Shows(tt.says...)
			b.Until(`[...document.querySelectorAll('[data-chart]')].every(c => c.querySelector('canvas'))`)
			for _, as := range []struct {
				scheme string
				width  int
			}{{"light", 1200}, {"dark", 1200}, {"light", 360}} {
				b.Emulate(as.scheme, as.width)
				b.Layout()
				picture(b, fmt.Sprintf("%s-%s-%d", tt.name, as.scheme, as.width))
				b.Quiet(s.url, tt.status)
				if as.width > 600 {
					b.Axe()
				}
			}
		})
	}
	b.T = t
}

func TestEveryPageWithoutRights(t *testing.T) {
	s := newSite(t)
	s.fill()
	secret, _ := s.token("viewer", "default", belfry.ScopeRead)
	b := s.tab(secret)
	for _, tt := range everyPage {
		if strings.Contains(tt.path, "namespace=") {
			continue // not of this reader's
		}
		t.Run(tt.name, func(t *testing.T) {
			b.T = t
			if tt.name == "parts" {
				return // which are shown whoever looks
			}
			b.Visit(s.url + tt.path)
			if tt.scope != "" {
				tt.status = 403
				b.Shows("Not allowed")
			}
			b.Quiet(s.url, tt.status)
			// Forms that change something are none of a reader's business.
			var forms []string
			b.Eval(`[...document.querySelectorAll('main form[method=post]')].map(f => f.action)`, &forms)
			for _, f := range forms {
				t.Errorf("a reader is offered %s", f)
			}
		})
	}
	b.T = t
}
