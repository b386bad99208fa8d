package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/views"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if code == 0 {
		if err := leaks.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// options is a node on a database of its own and on any free port.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	return Options{Config: config.Config{
		Database: filepath.Join(dir, "belfry.db"), Listen: "127.0.0.1:0", AllowCommands: true,
		Grace: core.Duration(5 * time.Second), Name: t.Name(),
	}}
}

func start(t *testing.T, o Options) *App {
	t.Helper()
	a, err := New(o)
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
	return a
}

func dial(t *testing.T, a *App) *client.Client {
	t.Helper()
	token, err := ReadToken(a.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(a.URL(), token, client.Options{Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func echo(ctx context.Context, t *testing.T, svc httpapi.Service) {
	t.Helper()
	if _, err := svc.CreateTask(ctx, task.Task{Name: "echo", Command: &task.Command{Argv: []string{"echo", "hi"}}}); err != nil {
		t.Fatal(err)
	}
}

func TestANodeRunsJobsAndStops(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Handlers = &worker.Handlers{}
	greet := worker.Handle(o.Handlers, "greet", func(_ context.Context, name string) (string, error) { return "hello " + name, nil })
	a := start(t, o)
	ctx, c := within(t), dial(t, a)

	j, err := greet.New("you")
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Enqueue(ctx, []job.NewJob{j})
	if err != nil {
		t.Fatal(err)
	}
	done, err := WaitJob(ctx, c, core.DefaultNamespace, made[0].Job.ID)
	if err != nil || string(done.Output) != `"hello you"` {
		t.Fatalf("got %s, %v", done.Output, err)
	}
	echo(ctx, t, c)
	if _, err := c.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "echo", Rules: []schedule.Rule{{Every: core.Duration(time.Second)}}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a scheduled job succeeds", func() bool {
		p, err := c.Jobs(ctx, job.Filter{Namespace: "default", Schedule: "s", States: []job.State{job.Succeeded}})
		return err == nil && len(p.Items) > 0
	})
	c.CloseIdleConnections()
	for range 2 {
		if err := a.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if err := a.Start(ctx); core.CodeOf(err) != core.Conflict {
		t.Errorf("started again: %v", err)
	}
}

// eventually waits for a condition, with a deadline.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !fn(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	a, err := New(options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := a.Start(t.Context()); core.CodeOf(err) != core.Conflict {
		t.Errorf("start after stop: %v", err)
	}
}

func TestAFailedStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := options(t)
	o.Listen = taken.Addr().String()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Start(t.Context())
	if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "--listen") {
		t.Fatalf("got %v", err)
	}
	if path := filepath.Join(filepath.Dir(o.Database), "belfry.token"); exists(path) {
		t.Error("a token was made for a node that did not start")
	}
	o.Listen = "127.0.0.1:0"
	start(t, o) // the file is free again
}

func TestASecondNodeOnTheFileIsRefused(t *testing.T) {
	t.Parallel()
	o := options(t)
	first := start(t, o)
	second, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); core.CodeOf(err) != core.Conflict {
		t.Fatalf("got %v", err)
	}
	if _, err := dial(t, first).Health(within(t)); err != nil {
		t.Errorf("the first one was hurt: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	a, err := New(options(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("still running")
	}
}

func TestAPartThatFailsStopsTheNode(t *testing.T) {
	t.Parallel()
	a, err := New(options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.fail(errors.New("the roof is on fire"))
	if err := a.Wait(within(t)); err == nil || !strings.Contains(err.Error(), "roof") {
		t.Errorf("got %v", err)
	}
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	a, err := New(options(t))
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	var order []string
	a.onStop("store", func(context.Context) error { order = append(order, "store"); return nil })
	a.onStop("api", func(context.Context) error { <-release; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Stop(ctx); err == nil || !strings.Contains(err.Error(), "stop api") {
		t.Errorf("got %v", err)
	}
	if len(order) != 1 {
		t.Error("one part that hangs kept the others from ending")
	}
}

func TestStopHandsRunningJobsBackAfterTheGrace(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Grace = core.Duration(50 * time.Millisecond)
	a := start(t, o)
	ctx, c := within(t), dial(t, a)
	if _, err := c.CreateTask(ctx, task.Task{Name: "long", Command: &task.Command{Shell: "sleep 60"}}); err != nil {
		t.Fatal(err)
	}
	made, err := c.Enqueue(ctx, []job.NewJob{{Task: "long"}})
	if err != nil {
		t.Fatal(err)
	}
	id := made[0].Job.ID
	eventually(t, "the job runs", func() bool {
		j, err := c.Job(ctx, "default", id)
		return err == nil && j.State == job.Running
	})
	c.CloseIdleConnections()
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	st, err := OpenStore(ctx, o.Config, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	j, err := st.Job(ctx, "default", id)
	if err != nil || j.State != job.Ready || j.Failures != 0 {
		t.Errorf("got %s with %d failures, %v", j.State, j.Failures, err)
	}
}

func TestTheFirstTokenIsPrivateAndKept(t *testing.T) {
	t.Parallel()
	o := options(t)
	a := start(t, o)
	info, err := os.Stat(a.TokenFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v", info, err)
	}
	secret, err := ReadToken(a.TokenFile())
	if err != nil || secret == "" {
		t.Fatalf("got %q, %v", secret, err)
	}
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	again := start(t, o)
	if now, _ := ReadToken(again.TokenFile()); now != secret {
		t.Error("a second start changed the token")
	}
	ts, err := again.Store().Tokens(within(t))
	if err != nil || len(ts) != 1 {
		t.Errorf("%d tokens, %v", len(ts), err)
	}
}

func TestWriteTokenReplacesAFileOthersCouldRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "token")
	if err := WriteToken(path, "a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteToken(path, "b"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	if got, _ := ReadToken(path); got != "b" {
		t.Errorf("got %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMayListen(t *testing.T) {
	t.Parallel()
	all := []string{config.RoleAPI, config.RoleEngine}
	for name, tc := range map[string]struct {
		c      config.Config
		usable bool
		says   []string
	}{
		"loopback":            {config.Config{Listen: "127.0.0.1:1", Roles: all}, false, nil},
		"loopback v6":         {config.Config{Listen: "[::1]:1", Roles: all}, false, nil},
		"localhost":           {config.Config{Listen: "localhost:1", Roles: all}, false, nil},
		"all addresses":       {config.Config{Listen: ":1", Roles: all}, false, []string{"--tls-cert", "belfry token create"}},
		"private":             {config.Config{Listen: "10.0.0.1:1", Roles: all}, true, []string{"--behind-proxy"}},
		"a name":              {config.Config{Listen: "belfry.example.com:1", Roles: all}, true, []string{"--tls-cert"}},
		"TLS without a token": {config.Config{Listen: ":1", TLSCert: "c", TLSKey: "k", Roles: all}, false, []string{"no token yet"}},
		"TLS and a token":     {config.Config{Listen: ":1", TLSCert: "c", TLSKey: "k", Roles: all}, true, nil},
		"proxy and a token":   {config.Config{Listen: ":1", BehindProxy: true, Roles: all}, true, nil},
		"no API":              {config.Config{Listen: ":1", Roles: []string{config.RoleWorker}}, false, nil},
	} {
		err := mayListen(tc.c, tc.usable)
		if (err != nil) != (tc.says != nil) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, want := range tc.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

func TestCanary(t *testing.T) {
	t.Parallel()
	a := start(t, options(t))
	ctx, c := within(t), dial(t, a)
	if k := SendCanary(ctx, c, core.DefaultNamespace, job.SystemQueue, time.Minute); !k.OK {
		t.Errorf("got %+v", k)
	}
	if _, err := c.PauseQueue(ctx, task.ChecksQueue, "test"); err != nil {
		t.Fatal(err)
	}
	k := SendCanary(ctx, c, core.DefaultNamespace, task.ChecksQueue, 50*time.Millisecond)
	if k.OK || !strings.Contains(k.Error, "paused") || k.Fix == "" {
		t.Errorf("got %+v", k)
	}
	if j, err := c.Job(ctx, "default", k.JobID); err != nil || j.State != job.Canceled {
		t.Errorf("the overdue canary is %s, %v", j.State, err)
	}
	if k := SendCanary(ctx, c, core.DefaultNamespace, "nowhere", time.Second); k.OK || !strings.Contains(k.Error, "nowhere") {
		t.Errorf("got %+v", k)
	}
}

func TestAQueueThatIsCreatedLaterIsServed(t *testing.T) {
	t.Parallel()
	a := start(t, options(t))
	ctx, c := within(t), dial(t, a)
	// serves is the queues of the node's one worker.
	serves := func() (queues []string) {
		all, err := c.Workers(ctx, true)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d workers, want one: %v", len(all), err)
		}
		return slices.Sorted(maps.Keys(all[0].Queues))
	}
	eventually(t, "the worker is there", func() bool { all, err := c.Workers(ctx, true); return err == nil && len(all) == 1 })
	before := serves()
	for range 2 {
		if _, err := c.SaveQueue(ctx, job.Queue{Name: "later"}); err != nil {
			t.Fatal(err)
		}
		if k := SendCanary(ctx, c, core.DefaultNamespace, "later", time.Minute); !k.OK {
			t.Errorf("got %+v", k)
		}
		if got := serves(); !slices.Contains(got, "later") || len(got) != len(before)+1 {
			t.Errorf("serves %v, before %v", got, before)
		}
		if err := c.DeleteQueue(ctx, "later"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a queue that is gone is served no more", func() bool { return slices.Equal(serves(), before) })
	}
}

// TestMetricsOfMonitors compares the series with figures and events that are
// known.
func TestMetricsOfMonitors(t *testing.T) {
	t.Parallel()
	o := newObserver(new(catalogue))
	r := prometheus.NewRegistry()
	if err := o.register(r); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	read := func(context.Context) (figures, error) {
		return figures{store: views.Gauges{
			Now: now, Monitors: map[monitor.Status]int64{monitor.StatusUp: 1, monitor.StatusDown: 2},
			States:   []views.MonitorGauge{{Namespace: "default", Name: "shop", Up: true}, {Namespace: "team", Name: "shop"}},
			Channels: []views.ChannelGauge{{Namespace: "default", Channel: "ops", Pending: 3, OldestAt: now.Add(-90 * time.Second)}, {Namespace: "team", Channel: "ops", Pending: 1}},
		}}, nil
	}
	if err := r.Register(newGauges(new(catalogue), read, func() leftBehind { return leftBehind{Attempts: 2, Alerts: 1} })); err != nil {
		t.Fatal(err)
	}
	o.Checked(task.KindHTTP, task.CheckOK, 80*time.Millisecond)
	o.Checked(task.KindHTTP, task.CheckFail, 2*time.Second)
	o.Checked(task.KindTCP, task.CheckError, 0)
	o.Tried("webhook", alert.Pending)
	o.Tried("webhook", alert.Sent)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	for _, want := range []string{
		`belfry_monitors{status="up"} 1`, `belfry_monitors{status="down"} 2`, `belfry_monitors{status="paused"} 0`,
		`belfry_monitor_up{monitor="shop",namespace="default"} 1`, `belfry_monitor_up{monitor="shop",namespace="team"} 0`,
		`belfry_alerts_pending{channel="ops",namespace="default"} 3`, `belfry_alerts_oldest_seconds{channel="ops",namespace="default"} 90`,
		`belfry_alerts_oldest_seconds{channel="ops",namespace="team"} 0`,
		`belfry_left_behind{of="attempts"} 2`, `belfry_left_behind{of="alerts"} 1`,
		`belfry_checks_total{kind="http",outcome="ok"} 1`, `belfry_checks_total{kind="http",outcome="fail"} 1`, `belfry_checks_total{kind="tcp",outcome="error"} 1`,
		`belfry_check_seconds_sum{kind="http"} 2.08`, `belfry_check_seconds_bucket{kind="http",le="0.1"} 1`, `belfry_check_seconds_count{kind="http"} 2`,
		`belfry_alert_tries_total{channel="webhook",state="pending"} 1`, `belfry_alert_tries_total{channel="webhook",state="sent"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, `belfry_check_seconds_count{kind="tcp"}`) {
		t.Error("a check without a latency is in the histogram")
	}
}

// getWith asks with a token, if there is one.
func getWith(ctx context.Context, t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// What flow control keeps out is counted on the page of metrics as it happened.
func TestMetricsCountJobsKeptOutByFlowControl(t *testing.T) {
	t.Parallel()
	a := start(t, options(t))
	ctx, c := within(t), dial(t, a)
	for _, q := range []job.Queue{{Name: "narrow", MaxWaiting: 2}, {Name: "short", MaxWaiting: 1, OnFull: job.OnFullDropOldest}, {Name: "wide"}} {
		if _, err := c.SaveQueue(ctx, q); err != nil {
			t.Fatal(err)
		}
		if _, err := c.PauseQueue(ctx, q.Name, "for a count"); err != nil {
			t.Fatal(err)
		}
		made := task.Task{Name: "in-" + q.Name, Kind: task.KindFunc, Queue: q.Name}
		if q.Name == "wide" {
			made.Throttle = &flow.Throttle{Window: core.Duration(time.Hour)}
		}
		if _, err := c.CreateTask(ctx, made); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if _, err := c.Enqueue(ctx, []job.NewJob{{Task: made.Name}}); (err != nil) != (q.Name == "narrow" && i >= 2) {
				t.Fatal(q.Name, i, err)
			}
		}
	}
	token, _ := ReadToken(a.TokenFile())
	_, text := getWith(ctx, t, a.URL()+"/metrics", token)
	for _, want := range []string{
		`belfry_jobs_kept_out_total{queue="narrow",reason="queue_full"} 3`,
		`belfry_jobs_kept_out_total{queue="short",reason="dropped"} 4`,
		`belfry_jobs_kept_out_total{queue="wide",reason="throttled"} 4`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	a := start(t, options(t))
	ctx, c := within(t), dial(t, a)
	SendCanary(ctx, c, core.DefaultNamespace, job.SystemQueue, time.Minute)
	token, _ := ReadToken(a.TokenFile())
	get := func(path, token string) (int, string) { return getWith(ctx, t, a.URL()+path, token) }
	if code, _ := get("/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("metrics without a token: %d", code)
	}
	_, text := get("/metrics", token)
	for _, want := range []string{
		"belfry_database_up 1", "belfry_schedule_lag_seconds 0", "belfry_clock_skew_seconds 0", `belfry_queue_ready{queue="default"} 0`,
		`belfry_queue_oldest_seconds{queue="system"} 0`, `belfry_jobs_claimed_total{queue="system"} 1`,
		`belfry_jobs_settled_total{queue="system",state="succeeded"} 1`, `belfry_attempts_total{outcome="ok",queue="system"} 1`,
		"belfry_sessions_lost_total 0", "belfry_stale_results_total 0", "belfry_store_seconds_bucket", "belfry_http_seconds_bucket",
		"belfry_workers 1", "belfry_fire_lag_seconds_count", "go_goroutines", "process_cpu_seconds_total",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	for _, want := range []string{
		`belfry_left_behind{of="attempts"} 0`, `belfry_left_behind{of="alerts"} 0`, `belfry_monitors{status="down"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestTwoNodesOnOnePostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	dir := t.TempDir()
	node := func(name string, roles ...string) *App {
		return start(t, Options{Config: config.Config{
			Database: url, Listen: "127.0.0.1:0", Roles: roles, Name: name, AllowCommands: true,
			TokenFile: filepath.Join(dir, "token"), Grace: core.Duration(5 * time.Second), MaxConns: 6,
		}})
	}
	front := node("front", config.RoleAPI, config.RoleEngine)
	ctx, c := within(t), dial(t, front)
	echo(ctx, t, c)
	made, err := c.Enqueue(ctx, []job.NewJob{{Task: "echo"}})
	if err != nil {
		t.Fatal(err)
	}
	back := node("back", config.RoleWorker, config.RoleEngine)
	if back.URL() != "" {
		t.Errorf("a node without the role listens on %s", back.URL())
	}
	if j, err := WaitJob(ctx, c, "default", made[0].Job.ID); err != nil || j.State != job.Succeeded {
		t.Fatalf("got %s, %v", j.State, err)
	}
	if h, err := c.Health(ctx); err != nil || h.Wakeups != "notify" || h.Workers != 1 {
		t.Errorf("got %+v, %v", h, err)
	}
	third := node("third", config.RoleAPI)
	if third.TokenFile() != front.TokenFile() {
		t.Errorf("the third node has the token in %s", third.TokenFile())
	}
	if _, err := dial(t, third).Health(ctx); err != nil {
		t.Errorf("the token of the first node is not good on the third: %v", err)
	}
}

func TestAPostgreSQLThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	a := start(t, Options{Config: config.Config{
		Database: server.URL("postgres"), Listen: "127.0.0.1:0", TokenFile: filepath.Join(t.TempDir(), "token"),
		Grace: core.Duration(time.Second), AllowCommands: true,
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := dial(t, a)
	if k := SendCanary(ctx, c, "default", job.SystemQueue, time.Minute); !k.OK {
		t.Fatalf("before: %+v", k)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API says that the database is away", func() bool {
		_, err := c.Tasks(ctx, task.Filter{Namespace: "default"})
		return core.CodeOf(err) == core.Unavailable
	})
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "jobs run again", func() bool {
		return SendCanary(ctx, c, "default", job.SystemQueue, time.Minute).OK
	})
	select {
	case err := <-a.fatal:
		t.Errorf("the node gave up: %v", err)
	default:
	}
}

func TestAPostgreSQLThatIsNotThere(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Database = "postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=2"
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Start(within(t))
	if core.CodeOf(err) != core.Unavailable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %s: %v", core.CodeOf(err), err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	o := options(t)
	dir := filepath.Dir(o.Database)
	o.TLSCert, o.TLSKey = certificate(t, dir)
	a := start(t, o)
	if !strings.HasPrefix(a.URL(), "https://") {
		t.Fatalf("got %s", a.URL())
	}
	token, _ := ReadToken(a.TokenFile())
	c, err := client.New(a.URL(), token, client.Options{CAFile: o.TLSCert})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	if _, err := c.Health(within(t)); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAMissingCertificateRefusesTheStart(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.TLSCert, o.TLSKey = "nowhere.pem", "nowhere.key"
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(within(t)); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "tls_cert") {
		t.Errorf("got %v", err)
	}
}

// certificate makes one for this machine, signed by itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestBehindAProxyOnTheSameMachineEveryHostNameIsServed(t *testing.T) {
	t.Parallel()
	for _, proxied := range []bool{false, true} {
		o := options(t)
		o.BehindProxy = proxied
		a := start(t, o)
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, a.URL()+"/openapi.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Close = "belfry.example.com", true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if served := resp.StatusCode == http.StatusOK; served != proxied {
			t.Errorf("behind a proxy %t: status %d", proxied, resp.StatusCode)
		}
	}
}

func TestTheHostOfThePublicURLIsServedOnLoopback(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.PublicURL = "https://belfry.example.com:8443/belfry"
	a := start(t, o)
	for host, want := range map[string]int{
		"belfry.example.com": http.StatusOK, "belfry.example.com:8443": http.StatusOK, "127.0.0.1": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest,
	} {
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, a.URL()+"/openapi.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Close = host, true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %s: status %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestUnknownQueuesAreRefused(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.OnlyQueues = []string{"default", "nowhere"}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(within(t)); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config.Config{
		"role":     {Roles: []string{"cook"}},
		"database": {Database: "mysql://x"},
		"listen":   {Listen: "nowhere"},
	} {
		if _, err := New(Options{Config: c}); core.CodeOf(err) != core.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
