package console_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Names of 128 characters without a place to break at stay within lists and pages, and breadcrumbs show their begin.
func TestEveryPageTakesTheLongestNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, long := t.Context(), strings.Repeat("m", 128)
	must(s.SaveQueue(ctx, job.Queue{Name: long}))(s)
	must(s.CreateTask(ctx, task.Task{Name: long, Kind: task.KindFunc, Queue: long, Tags: []string{strings.Repeat("t", 128)}}))(s)
	must(s.CreateSchedule(ctx, schedule.Schedule{Name: long, Task: long, Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(s)
	must(s.SaveCalendar(ctx, schedule.Calendar{Name: long}))(s)
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: long}))(s)
	must(s.SaveChannel(ctx, alert.Channel{Name: long, Webhook: &alert.WebhookChannel{URL: "https://hooks.example/x"}}))(s)
	must(s.SaveAlertRule(ctx, alert.Rule{Name: long, Channels: []string{long}, Tags: []string{long}}))(s)
	must(s.SaveWindow(ctx, monitor.Window{Name: long, Rules: []schedule.Rule{{Cron: "30 2 * * SAT"}}, Lasts: core.Duration(time.Hour)}))(s)
	s.token(long, "default", access.ScopeRead)
	must(s.SetSecret(ctx, "default", long, "x"))(s)
	if _, _, err := s.CreateJoinToken(ctx, access.JoinToken{Name: long, Labels: map[string]string{long: long}}); err != nil {
		t.Fatal(err)
	}
	must(s.OpenSession(ctx, job.WorkerInfo{Name: "builder", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{long: 1}}))(s)
	id := must(s.Enqueue(ctx, []job.NewJob{{Task: long}}))(s)[0].Job.ID
	b := s.at("/")
	for _, path := range portion.Of(t, []string{"/", "/tasks", "/jobs", "/schedules", "/schedules?view=lanes", "/queues", "/calendars", "/status-pages", "/status-pages/" + long, "/settings/channels", "/alert-rules", "/settings/windows", "/settings/tokens", "/settings/join-tokens", "/settings/secrets", "/settings/database", "/workers", "/audit", "/find?q=mmm", "/forecast", "/tasks/" + long, "/schedules/" + long, "/queues/" + long, "/calendars/" + long,
		"/audit", "/jobs/" + strconv.FormatInt(id, 10), "/tasks/" + long + "/edit", "/schedules/" + long + "/edit"}) {
		b.Visit(s.url + path)
		for _, width := range []int{1280, 768, 390} {
			b.Emulate("light", width)
			picture(b, "long"+strings.NewReplacer("/", "-", "?", "-", long, "long").Replace(path)+"-"+strconv.Itoa(width))
			b.Layout()
			var hidden []string
			b.Eval(`[...document.querySelectorAll('nav.trail a')].filter(a => a.getBoundingClientRect().right > a.parentElement.getBoundingClientRect().right + 1).map(a => a.textContent)`, &hidden)
			if len(hidden) > 0 {
				t.Errorf("%s at %d pixels: the breadcrumb hides %q", path, width, hidden)
			}
		}
		drawers(b)
	}
	b.Quiet(s.url)
}

// Lists of things with 10,000 tags between them are as light as others, and one thing with as many is refused.
func TestTenThousandTags(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var m view.Manifest
	const all = 10_000
	for n := 0; n < all; {
		name := fmt.Sprintf("thing-%d", n)
		var tags []string
		for range core.MaxTags {
			tags = append(tags, fmt.Sprintf("tag-%d", n))
			n++
		}
		m.Tasks = append(m.Tasks, task.Task{Name: name, Kind: task.KindFunc, Tags: tags})
		m.Monitors = append(m.Monitors, monitor.Monitor{Name: name, Tags: tags, Check: task.Task{TCP: &task.TCP{Address: "db.example:22"}}})
	}
	must(s.Apply(t.Context(), m, view.ApplyOptions{}))(s)
	v := s.visitor(s.admin)
	for _, path := range []string{"/tasks", "/monitors", "/monitors?group=tag", "/monitors?view=grid", "/tasks/thing-0", "/monitors/thing-0", "/find?q=tag-9", "/monitors?tag=tag-9999", "/tasks?tag=tag-9999"} {
		size, body := v.weighed(path)
		if size > mostOfPage {
			t.Errorf("%s has %d bytes as they travel; at most %d are allowed", path, size, mostOfPage)
		}
		if strings.Contains(path, "9999") && strings.Count(body, `<tr id=`) != 1 {
			t.Errorf("%s does not show one thing", path)
		}
	}
	b := s.at("/monitors")
	for _, path := range []string{"/monitors", "/monitors?group=tag", "/tasks/thing-0"} {
		b.Visit(s.url + path)
		for _, width := range []int{1280, 390} {
			b.Emulate("light", width)
			picture(b, "tags"+strings.NewReplacer("/", "-", "?", "-").Replace(path)+"-"+strconv.Itoa(width))
			b.Layout()
		}
	}
	b.Quiet(s.url)
	var many []string
	for n := range all {
		many = append(many, fmt.Sprintf("tag-%d", n))
	}
	status, body := v.post("/tasks/-new?kind=func", "name", "many", "tags", strings.Join(many, ", "))
	if status != 422 || !strings.Contains(body, fmt.Sprintf("has more than %d entries", core.MaxTags)) || !strings.Contains(body, "tag-9999") {
		t.Errorf("%d, %d bytes", status, len(body))
	}
}

// A page whose node goes away says so, keeps what it shows, and catches up when there is a node again.
func TestANodeThatGoesAway(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "belfry.db")
	s := newSite(t, func(c *config.Config) { c.Database, c.Listen = database, "127.0.0.1:"+strconv.Itoa(lowPort(t)) })
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "nights"}))(s)
	b := s.at("/calendars")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	if err := s.node.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.getElementById('live').dataset.state === 'off' && document.getElementById('live').textContent === 'Not live'`)
	b.Shows("nights")
	again := newSite(t, func(c *config.Config) { c.Database, c.Listen = database, strings.TrimPrefix(s.url, "http://") })
	must(again.SaveCalendar(t.Context(), schedule.Calendar{Name: "mornings"}))(again)
	b.Until(`document.getElementById('live').dataset.state === 'on' && document.getElementById('list').innerText.includes('mornings')`)
}

// lowPort is a free port below the range of those that are given to whatever asks for any. A node that went away finds it
// free again.
func lowPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(12_000)
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// On a slow network an action says that it is under way, and clicks that follow send it no second time.
func TestASlowActionIsSentOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/jobs/-new?task=hello")
	b.Call("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 3000, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
	b.Events = nil
	b.Leaves(`(() => { const button = document.querySelector('main form[method=post] .main'); button.click(); setTimeout(() => { sessionStorage.busy = button.getAttribute('aria-busy'); button.click(); button.click(); }); })()`)
	b.Until(`location.pathname.match(/^.jobs.\d+$/) && document.readyState === 'complete'`)
	b.Until(`sessionStorage.busy === 'true'`) // as the page that is left had it
	if n := must(s.Jobs(t.Context(), job.Filter{Task: "hello", States: []job.State{job.Ready}}))(s); len(n.Items) != 1 {
		t.Errorf("%d jobs", len(n.Items))
	}
	// Who stops waiting can send again.
	b.Visit(s.url + "/calendars/-new")
	put(b, "#f-name", "bad name!")
	var free bool
	b.Eval(`new Promise(done => { navigation.onnavigateerror = () => setTimeout(() => done(document.querySelector('[data-own-sent], [aria-busy]') === null)); document.querySelector('main form[method=post] .main').click(); setTimeout(stop, 100); })`, &free)
	if !free {
		t.Error("a form whose answer is not waited for stays busy")
	}
}
