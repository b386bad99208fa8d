package console_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m).Run()) }

// site is a node with its API and its console, on a database of its own. No
// engine and no worker runs, so that everything stands still.
type site struct {
	*testing.T
	*client.Client // with the admin's token

	url   string
	admin string // secrets
	node  *app.App
}

func newSite(t *testing.T, change ...func(*config.Config)) *site {
	t.Helper()
	c := config.Config{
		Database: filepath.Join(t.TempDir(), "belfry.db"), Listen: "127.0.0.1:0",
		Roles: []string{config.RoleAPI}, Grace: core.Duration(time.Second), Name: "node",
	}
	for _, fn := range change {
		fn(&c)
	}
	a, err := app.New(app.Options{Config: c, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	s := &site{T: t, url: a.URL(), node: a}
	if s.admin, err = app.ReadToken(a.TokenFile()); err != nil {
		t.Fatal(err)
	}
	if s.Client, err = client.New(a.URL(), s.admin, client.Options{Timeout: 5 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.CloseIdleConnections)
	return s
}

// token makes one and answers its secret.
func (s *site) token(name, namespace string, scopes ...access.Scope) (secret string, id int64) {
	s.Helper()
	t, secret, err := s.CreateToken(s.Context(), access.Token{Name: name, Namespace: namespace, Scopes: scopes})
	if err != nil {
		s.Fatal(err)
	}
	return secret, t.ID
}

func must[T any](v T, err error) func(*site) T {
	return func(s *site) T {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
		return v
	}
}

// fill makes something of everything: page tests rely on these names.
//
//	tasks      hello, broken, later     schedules  hourly (of hello)
//	jobs       one running and one failed, three of later that are ready
//	calendar   nights
//	monitors   shop, which is down      worker     builder
//	cycle      nightly, of fetch, which is done, report, which runs, and mail
//	join token builders
//
// and what [site.watched] and [site.hooks] list.
func (s *site) fill() {
	s.Helper()
	s.hooks()
	s.someJobs()
	s.cycle("nightly")
	s.watched()
	s.sampled()
	s.hooksDelivered()
	if _, _, err := s.CreateJoinToken(s.Context(), access.JoinToken{Name: "builders", Uses: 10, Labels: map[string]string{"pool": "build"}}); err != nil {
		s.Fatal(err)
	}
}

// filledSite is a site with something of everything.
func filledSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.fill()
	return s
}

// someJobs makes all of that but the cycle and what is watched, whose jobs would be counted too.
func (s *site) someJobs() {
	s.Helper()
	ctx := s.Context()
	must(s.SaveNamespace(ctx, access.Namespace{Name: "team-limited", Queues: []string{task.DefaultQueue},
		Quota: access.Quota{Waiting: 10, Definitions: 2}, Limits: []flow.Limit{{Running: 4}, {Name: "each", Key: "input.customer", Rate: "5/1s"}}}))(s)
	for _, name := range []string{"hello", "broken", "later"} {
		must(s.CreateTask(ctx, task.Task{Name: name, Kind: task.KindFunc, Timeout: core.Duration(10 * time.Minute),
			Retry: task.Retry{MaxAttempts: 1}}))(s)
	}
	must(s.CreateSchedule(ctx, schedule.Schedule{Name: "hourly", Task: "hello", Rules: []schedule.Rule{{Cron: "0 * * * *"}}, Zone: "Europe/Sofia"}))(s)
	must(s.SaveCalendar(ctx, schedule.Calendar{Name: "nights", CalendarSpec: cron.CalendarSpec{Zone: "Europe/Sofia",
		Closings: []cron.Closing{{Name: "people sleep", Weekly: "MON-FRI 22:00-06:00"}, {Name: "Christmas", Dates: "12-24..12-26"}}}}))(s)
	s.down("shop")
	s.fail("broken", "the disk is full")
	s.run("hello")
	must(s.Enqueue(ctx, []job.NewJob{{Task: "later"}, {Task: "later"}, {Task: "later"}}))(s)
}

// claim enqueues a job of a task and claims it, and nothing else.
func (s *site) claim(t string) (session string, j job.Job, lease int64) {
	s.Helper()
	ctx := s.Context()
	must(s.Enqueue(ctx, []job.NewJob{{Task: t}}))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "builder", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{t},
		Queues: map[string]int{"default": 1}, TTL: job.MaxSessionTTL}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 1}}))(s)
	if len(c.Jobs) != 1 {
		s.Fatalf("claimed %d jobs", len(c.Jobs))
	}
	return w.ID, c.Jobs[0].Job, c.Lease
}

// run leaves a job of a task running.
func (s *site) run(task string) job.Job {
	s.Helper()
	_, job, _ := s.claim(task)
	return job
}

// fail lets a job of a task fail.
func (s *site) fail(task, why string) job.Job {
	s.Helper()
	session, j, lease := s.claim(task)
	must(s.Finish(s.Context(), session, []job.Finish{{Ref: job.Ref{JobID: j.ID, Lease: lease}, Outcome: job.OutcomeError, Error: why, NoRetry: true}}))(s)
	if err := s.CloseSession(s.Context(), session); err != nil {
		s.Fatal(err)
	}
	return j
}

// down makes a monitor whose target is down.
func (s *site) down(name string) {
	s.Helper()
	ctx := s.Context()
	must(s.CreateMonitor(ctx, monitor.Monitor{Name: name, Confirm: monitor.Confirm{Failures: 1},
		Check: task.Task{HTTP: &task.HTTP{URL: "https://" + name + ".example/"}}}))(s)
	must(s.CheckMonitor(ctx, "default", name))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{task.ChecksQueue: 1}}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: 1}}))(s)
	if len(c.Jobs) != 1 {
		s.Fatalf("claimed %d checks", len(c.Jobs))
	}
	must(s.Finish(ctx, w.ID, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK,
		Check: &task.CheckResult{Outcome: task.CheckFail, Code: task.CodeConnectRefused, Message: "nothing listens there"}}}))(s)
	if err := s.CloseSession(ctx, w.ID); err != nil {
		s.Fatal(err)
	}
}

// visitor is a browser without scripts.
type visitor struct {
	*site
	http *http.Client
}

// visitor signs in, or does not when secret is empty.
func (s *site) visitor(secret string) *visitor {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	v := &visitor{s, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	s.Cleanup(v.http.CloseIdleConnections)
	if secret != "" {
		if status, body := v.post("/sign-in", "token", secret); status != http.StatusOK || strings.Contains(body, `name="token"`) {
			s.Fatalf("not signed in: %d %s", status, body)
		}
	}
	return v
}

// cookies are those of its session.
func (v *visitor) cookies() []*http.Cookie {
	v.Helper()
	return v.http.Jar.Cookies(must(url.Parse(v.url))(v.site))
}

func (v *visitor) get(path string) (status int, body string) {
	v.Helper()
	return v.ask("GET", path, nil)
}

// post sends a form and follows where it leads.
func (v *visitor) post(path string, pairs ...string) (status int, body string) {
	v.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasSuffix(pairs[i], "]") { // of a row
			form.Add(pairs[i], pairs[i+1])
			continue
		}
		form.Set(pairs[i], pairs[i+1])
	}
	return v.ask("POST", path, form)
}

func (v *visitor) ask(method, path string, form url.Values) (int, string) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.url)
	}
	resp, err := v.http.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// tab is one of a real browser, signed in.
func (s *site) tab(secret string) *browser.Tab {
	s.Helper()
	b := browser.Open(s.T)
	for _, c := range s.visitor(secret).cookies() {
		b.Call("Network.setCookie", map[string]any{"name": c.Name, "value": c.Value, "url": s.url}, nil)
	}
	return b
}

// failNext lets the job of a task that is ready already fail.
func (s *site) failNext(t, why string) {
	s.Helper()
	ctx := s.Context()
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "builder", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{t}, Queues: map[string]int{"default": 1}}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 1}}))(s)
	if len(c.Jobs) != 1 {
		s.Fatalf("claimed %d jobs", len(c.Jobs))
	}
	must(s.Finish(ctx, w.ID, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeError, Error: why, NoRetry: true}}))(s)
	if err := s.CloseSession(ctx, w.ID); err != nil {
		s.Fatal(err)
	}
}

func numberText(n int64) string { return strconv.FormatInt(n, 10) }
