package console_test

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

//go:embed testdata/person.js
var person string

// atOnce is how many pages are watched side by side.
const atOnce = 10

// A person looks at each page that keeps itself up to date for 20 s of a node
// on which something ends every second. They have opened, ticked, typed,
// selected and pointed at what there is, and it stays so: nothing vanishes,
// jumps, closes or loses what was typed, and charts show the new numbers.
func TestPagesThroughLiveUpdates(t *testing.T) {
	t.Parallel()
	s := busySite(t)
	v := s.visitor(s.admin)
	var views []watched
	seen := map[string]bool{}
	for _, p := range append(s.busyPages(), everyPage...) {
		if p.status != 0 || strings.Contains(p.path, "namespace=nobody") || p.name == "parts" {
			continue
		}
		path, _, _ := strings.Cut(p.path, "?")
		if strings.Contains(p.path, "view=lanes") {
			path = p.path // another page at the same address
		}
		if seen[path] {
			continue // the same with a filter
		}
		seen[path] = true
		if _, body := v.get(p.path); strings.Contains(body, "data-live=") {
			views = append(views, watched{path: p.path})
		}
	}
	for now := range slices.Chunk(portion.Of(t, views), atOnce) {
		s.watch(now, v.cookies())
	}
}

// Pages that were seen to move under the hand.
func TestPagesThroughLiveUpdatesThatMovedRows(t *testing.T) {
	t.Parallel()
	s := busySite(t)
	s.busyPages()
	v := s.visitor(s.admin)
	v.get("/")
	// A short page, on which tables come and go above the row that is pointed at, and in which that row leaves its table.
	views := slices.Repeat([]watched{{path: "/incidents?monitor=web-1"}}, 6)
	// The first chart is drawn above the row that is pointed at: one that the page no longer has comes with the next
	// update, as the first of a new monitor does.
	views = append(views, watched{"/monitors/api", `(() => {
		const figures = [...document.querySelectorAll('[data-live] figure[data-chart]')];
		for (const f of figures) f.remove();
		return figures.length > 0;
	})()`})
	// The row that is pointed at gets lower, as one does whose last cell needs fewer lines.
	views = append(views, watched{"/queues", `(() => {
		const cells = [...document.querySelectorAll('#list tbody tr > :last-child')];
		for (const c of cells) c.append(document.createElement('br'), 'one', document.createElement('br'), 'two', document.createElement('br'), 'three');
		return cells.length > 0;
	})()`})
	s.watch(views, v.cookies())
}

// watched is a page that a person looks at. What prepare says of it first is true.
type watched struct{ path, prepare string }

// watch lets a person look at pages, all at the same time.
func (s *site) watch(views []watched, cookies []*http.Cookie) {
	s.Helper()
	tabs, looked := make([]*browser.Tab, len(views)), make([]int, len(views))
	for i, view := range views {
		b := browser.Open(s.T)
		tabs[i] = b
		for _, c := range cookies {
			b.Call("Network.setCookie", map[string]any{"name": c.Name, "value": c.Value, "url": s.url}, nil)
		}
		b.Emulate("light", 1200)
		b.Visit(s.url + view.path)
		settled(b)
		b.Until(`document.getElementById('live').dataset.state === 'on'`)
		for _, script := range []string{view.prepare, person} {
			done := script == ""
			if !done {
				b.Eval(script, &done)
			}
			if !done {
				s.Fatalf("%s: the page is not what it is watched for", view.path)
			}
		}
		for tries := 0; ; tries++ {
			var at *struct{ X, Y float64 }
			if b.Eval(`person.at()`, &at); at == nil {
				break
			}
			if tries == 20 {
				s.Fatalf("%s: what is pointed at moves away", view.path)
			}
			b.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X, "y": at.Y}, nil)
		}
		var looks bool
		b.Eval(`window.person.look()`, &looks)
		looked[i] = len(b.Events)
	}
	for i, b := range tabs {
		s.Run(strings.Trim(views[i].path, "/"), func(t *testing.T) {
			b.T = t
			b.Until(`person.seconds() >= 20`)
			var seconds float64
			b.Eval(`person.seconds()`, &seconds)
			costs(t, b, looked[i], seconds, mostOfBusyMinute)
			var faults []string
			b.Eval(`person.faults()`, &faults)
			for _, f := range faults {
				t.Error(f)
			}
			if t.Failed() {
				picture(b, "updates-"+strings.NewReplacer("/", "-", "?", "-").Replace(views[i].path))
			}
			b.Quiet(s.url)
			b.Close()
		})
	}
}

// busySite is a filled site on which jobs succeed and fail, a log grows,
// cycles go round and monitors go up and down.
func busySite(t *testing.T) *site {
	t.Helper()
	database := filepath.Join(t.TempDir(), "belfry.db")
	still := newSite(t, func(c *config.Config) { c.Database = database })
	still.fill()
	if err := still.node.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *config.Config) {
		c.Database, c.Roles, c.AllowCommands, c.AllowAddresses = database, []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, true, []string{"loopback"}
	})
	ctx := t.Context()
	var asked atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)/3%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(target.Close)
	tk := func(name, shell string) {
		must(s.CreateTask(ctx, task.Task{Name: name, Kind: task.KindCommand, Command: &task.Command{Shell: shell}, Retry: task.Retry{MaxAttempts: 1}}))(s)
	}
	every := func(name, task string, d time.Duration) {
		must(s.CreateSchedule(ctx, schedule.Schedule{Name: name, Task: task, Rules: []schedule.Rule{{Every: core.Duration(d)}}, Overlap: schedule.OverlapAllow}))(s)
	}
	tk("quick", "echo done")
	tk("slow", "sleep 2")
	tk("faulty", "echo it cannot >&2; exit 3")
	tk("talks", "i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); sleep 0.3; done")
	every("quick", "quick", time.Second)
	every("slow", "slow", 3*time.Second)
	every("faulty", "faulty", 2*time.Second)
	must(s.CreateTask(ctx, task.Task{Name: "round", Cycle: &task.Cycle{Members: []task.Member{{Task: "quick"}, {Task: "slow"}}}}))(s)
	every("round", "round", 4*time.Second)
	for i := range 3 {
		must(s.CreateMonitor(ctx, monitor.Monitor{Name: fmt.Sprint("web-", i), Every: core.Duration(time.Second), Confirm: monitor.Confirm{Failures: 1}, Recover: monitor.Recover{Passes: 1},
			Check: task.Task{HTTP: &task.HTTP{URL: target.URL}}}))(s)
	}
	must(s.CreateMonitor(ctx, monitor.Monitor{Name: "script", Every: core.Duration(2 * time.Second), Confirm: monitor.Confirm{Failures: 1}, Recover: monitor.Recover{Passes: 1},
		Check: task.Task{Kind: task.KindCommand, Command: &task.Command{Shell: "test $(($(date +%s) / 5 % 2)) = 0"}}}))(s)
	return s
}

// busyPages are pages about what goes on, besides [everyPage]. It waits until
// there is something to look at.
func (s *site) busyPages() (pages []struct {
	name, path string
	says       []string
	status     int
	scope      access.Scope
}) {
	s.Helper()
	jobs := must(s.Enqueue(s.Context(), []job.NewJob{{Task: "talks"}}))(s)
	for cursor := ""; ; {
		failed := must(s.Jobs(s.Context(), job.Filter{Task: "faulty", States: []job.State{job.Failed}}))(s)
		down := must(s.Incidents(s.Context(), view.IncidentFilter{Monitor: "web-1"}))(s)
		if len(failed.Items) > 0 && len(down.Items) > 0 {
			break
		}
		var err error
		if _, cursor, err = s.Events(s.Context(), "default", cursor, 5*time.Second); err != nil {
			s.Fatal(err)
		}
	}
	for _, path := range []string{
		fmt.Sprint("/jobs/", jobs[0].Job.ID), "/jobs?q=state:failed", "/tasks/quick", "/tasks/faulty", "/schedules/quick", "/schedules/round", "/cycles/round", "/monitors/web-1", "/monitors/web-1/results",
		"/monitors/script", "/incidents?monitor=web-1",
	} {
		page := everyPage[0]
		page.name, page.path = path, path
		pages = append(pages, page)
	}
	return pages
}
