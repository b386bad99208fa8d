package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// calm is a store that blocks passes with known results, so that a simulated week
// costs only its events. It passes on all other calls.
type calm struct {
	*store.Store
	now                    func() time.Time
	firing, promoting, bfs rest
	mu                     sync.Mutex
	news                   chan struct{} // closed when jobs may be ready
	empty                  chan struct{} // the state of news when a claim found nothing
	session                string        // session of that claim
}

func (r rest) holds(now time.Time) bool {
	if r.woken == nil || !r.next.IsZero() && !r.next.After(now) || time.Since(r.since) > time.Hour {
		return false
	}
	select {
	case <-r.woken:
		return false
	default:
		return true
	}
}

func (c *calm) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.news)
	c.news = make(chan struct{})
}

func (c *calm) FireDue(ctx context.Context) (job.Fired, error) {
	now := c.now()
	if c.firing.holds(now) {
		return job.Fired{Now: now, NextAt: c.firing.next}, nil
	}
	woken := c.Woken()
	f, err := c.Store.FireDue(ctx)
	c.firing = rest{woken, f.NextAt, time.Now()}
	if f.Jobs > 0 {
		c.announce()
	}
	return f, err
}

func (c *calm) Promote(ctx context.Context) (job.Promoted, error) {
	now := c.now()
	if c.promoting.holds(now) {
		return job.Promoted{Now: now, NextAt: c.promoting.next}, nil
	}
	woken := c.Woken()
	p, err := c.Store.Promote(ctx)
	c.promoting = rest{woken, p.NextAt, time.Now()}
	if p.Jobs > 0 {
		c.announce()
	}
	return p, err
}

func (c *calm) Refill(ctx context.Context) (bool, error) {
	if c.bfs.holds(c.now()) {
		return false, nil
	}
	woken := c.Woken()
	more, err := c.Store.Refill(ctx)
	if !more {
		c.bfs = rest{woken: woken, since: time.Now()}
	}
	return more, err
}

func (c *calm) ReleaseLost(ctx context.Context) (job.Released, error) {
	defer c.announce()
	return c.Store.ReleaseLost(ctx)
}

func (c *calm) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	defer c.announce()
	return c.Store.Finish(ctx, session, fs)
}

func (c *calm) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	wait := time.NewTimer(r.Wait.D())
	defer wait.Stop()
	r.Wait = 0
	for {
		c.mu.Lock()
		news, known := c.news, c.empty == c.news && c.session == r.Session
		c.mu.Unlock()
		if !known {
			got, err := c.Store.Claim(ctx, r)
			if err != nil || len(got.Jobs) > 0 {
				return got, err
			}
			c.mu.Lock()
			c.empty, c.session = news, r.Session
			c.mu.Unlock()
		}
		select {
		case <-news:
		case <-wait.C:
			return job.Claim{}, nil
		case <-ctx.Done():
			return job.Claim{}, ctx.Err()
		}
	}
}

// loops is the part of the store for the engine. It has no FollowClock, because the
// clock of the bubble is not the one that the test sets.
type loops interface{ engine.Store }

var policies = []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll,
	schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapAllow}

// week is a node with one schedule for each overlap policy and zone.
type week struct {
	*testing.T
	shift  atomic.Int64 // difference of the wall clock to the clock of the bubble
	st     *store.Store
	c      *calm
	stop   func()
	starts atomic.Int64
}

func (w *week) now() time.Time { return time.Now().Add(time.Duration(w.shift.Load())) }

// set moves the wall clock.
func (w *week) set(by time.Duration) {
	w.shift.Add(int64(by))
	if by < 0 { // as the engine does when it notices the change, see clock_test.go
		if err := w.st.ShiftClock(w.Context(), by); err != nil {
			w.Fatal(err)
		}
	}
}

// until lets time pass until the wall clock shows t.
func (w *week) until(t time.Time) {
	time.Sleep(t.Sub(w.now()))
	synctest.Wait()
}

// run starts the engine and a worker.
func (w *week) run() {
	w.Helper()
	e, err := engine.New(engine.Options{Store: struct{ loops }{w.c}, Release: 5 * time.Minute, Prune: 100 * 24 * time.Hour})
	if err != nil {
		w.Fatal(err)
	}
	h := &worker.Handlers{}
	worker.Handle(h, "work", w.work)
	wk, err := worker.New(worker.Options{Leaser: w.c, Handlers: h, Poll: 5 * time.Second, Lease: 10 * time.Minute, Grace: -1, Queues: map[string]int{"default": 50}})
	if err != nil {
		w.Fatal(err)
	}
	w.stop = loop(w.T, e.Run, wk.Run)
}

// work takes five minutes, and two and a half hours after every fifth hour, so
// that runs overlap.
func (w *week) work(ctx context.Context, _ struct{}) (int, error) {
	j, _ := worker.JobFrom(ctx)
	w.starts.Add(1)
	if !strings.HasPrefix(j.Schedule, "allow") {
		p, err := w.st.Jobs(ctx, job.Filter{Schedule: j.Schedule, States: []job.State{job.Scheduled, job.Ready, job.Running}})
		if err == nil && len(p.Items) > 1 {
			w.Errorf("%s: %d live jobs, of %s and %s", j.Schedule, len(p.Items), p.Items[0].Nominal, p.Items[1].Nominal)
		}
	}
	d := 5 * time.Minute
	if j.Nominal.Hour()%5 == 0 {
		d = 150 * time.Minute
	}
	select {
	case <-time.After(d):
		return 0, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// weekly simulates a span from from on, with an hourly and a daily schedule in each
// zone, and checks the decision about every nominal time.
func weekly(t *testing.T, from, to time.Time, zones map[string]string, event func(w *week)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belfry.db")
	synctest.Test(t, func(t *testing.T) {
		w := &week{T: t}
		w.shift.Store(int64(time.Until(from)))
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Clock: w.now}})
		if err != nil {
			t.Fatal(err)
		}
		w.st, w.c = st, &calm{Store: st, now: w.now, news: make(chan struct{})}
		if _, err := st.CreateTask(t.Context(), task.Task{Name: "work", Kind: task.KindFunc, Timeout: core.Duration(24 * time.Hour), Retry: task.Retry{Jitter: -1, MaxAttempts: 5}}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, policy := range policies {
			for zone, daily := range zones {
				sc := schedule.Schedule{Name: string(policy) + "-" + zone[strings.Index(zone, "/")+1:], Task: "work", Zone: zone, Overlap: policy, BufferMax: 2, End: to,
					Catchup: map[schedule.Overlap]schedule.Catchup{schedule.OverlapSkip: schedule.CatchupNone, schedule.OverlapBufferAll: schedule.CatchupAll, schedule.OverlapAllow: schedule.CatchupAll}[policy],
					Rules:   []schedule.Rule{{Cron: "15 * * * *"}, {Cron: daily}}, CatchupMax: 3, CatchupWindow: core.Duration(24 * time.Hour)}
				if _, err := st.CreateSchedule(t.Context(), sc); err != nil {
					t.Fatal(err)
				}
				names = append(names, sc.Name)
			}
		}
		w.run()
		event(w)
		w.until(to.Add(30 * time.Hour)) // all waiting runs take place
		for _, name := range names {
			w.check(name, from, to)
		}
		w.stop()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// check checks the invariants of any week.
func (w *week) check(name string, from, to time.Time) {
	w.Helper()
	sc, err := w.st.Schedule(w.Context(), "default", name)
	if err != nil {
		w.Fatal(err)
	}
	plan, err := sc.Plan()
	if err != nil {
		w.Fatal(err)
	}
	if sc.State != schedule.Completed {
		w.Errorf("%s: it is %s after its end, next %s", name, sc.State, sc.NextAt)
	}
	jobs := map[time.Time]int{}
	for f := (job.Filter{Schedule: name, Paging: core.Paging{Limit: 1000}}); ; {
		p, err := w.st.Jobs(w.Context(), f)
		if err != nil {
			w.Fatal(err)
		}
		for _, j := range p.Items {
			jobs[j.Nominal]++
			if !j.State.Final() {
				w.Errorf("%s: the job of %s is %s", name, j.Nominal, j.State)
			}
		}
		if f.Cursor = p.Next; f.Cursor == "" {
			break
		}
	}
	delivered := map[time.Time]string{}
	p, err := w.st.Occurrences(w.Context(), schedule.OccurrenceFilter{Schedule: name, Paging: core.Paging{Limit: 1000}})
	if err != nil || p.Next != "" {
		w.Fatal(err, p.Next)
	}
	decided := map[string]int{}
	for _, o := range p.Items {
		times := []time.Time{o.Nominal}
		if o.Count > 1 {
			times = sc.Upcoming(plan, o.Nominal.Add(-time.Microsecond), o.Count)
			if !times[len(times)-1].Equal(o.Until) {
				w.Errorf("%s: %d times from %s end at %s and not at %s", name, o.Count, o.Nominal, times[len(times)-1], o.Until)
			}
		}
		if (o.Decision == schedule.DecidedSkipped) == (o.Reason == "") || o.Decision == schedule.DecidedBuffered {
			w.Errorf("%s: %s %s %q", name, o.Nominal, o.Decision, o.Reason)
		}
		if n := jobs[o.Nominal]; (o.Decision == schedule.DecidedJob) != (n == 1) || n > 1 {
			w.Errorf("%s: %s is %s and has %d jobs", name, o.Nominal, o.Decision, n)
		}
		for _, t := range times {
			if delivered[t.UTC()] != "" {
				w.Errorf("%s: %s has two rows", name, t)
			}
			delivered[t.UTC()] = string(o.Decision)
		}
		decided[strings.TrimSpace(string(o.Decision)+" "+string(o.Reason))] += o.Count
	}
	due := sc.Upcoming(plan, from, 10_000)
	for _, t := range due {
		if delivered[t.UTC()] == "" {
			w.Errorf("%s: %s is lost", name, t)
		}
	}
	if len(due) != len(delivered) || int64(len(jobs)) != sc.Runs || len(jobs) != decided["job"] {
		w.Errorf("%s: %d due, %d told, %d jobs, %d runs, %v", name, len(due), len(delivered), len(jobs), sc.Runs, decided)
	}
	// The last day was as planned: each of its times was decided when it was due.
	for _, o := range p.Items {
		if o.Nominal.After(to.Add(-24*time.Hour)) && (o.Count != 1 || strings.HasPrefix(string(o.Reason), "catchup")) {
			w.Errorf("%s: on the last day %s stands for %d, %s", name, o.Nominal, o.Count, o.Reason)
		}
	}
	if testing.Verbose() {
		w.Logf("%-24s %v", name, decided)
	}
}

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

var bothZones = map[string]string{"Europe/Sofia": "30 3 * * *", "America/New_York": "30 2 * * *"}

func TestAWeekWithGapsRunsOnPlan(t *testing.T) {
	weekly(t, day("2000-03-25"), day("2000-04-04"), bothZones, func(w *week) {}) // 26 March and 2 April
}

func TestAWeekWithFoldsRunsOnPlan(t *testing.T) {
	zones := map[string]string{"Europe/Sofia": "30 3 * * *", "America/New_York": "30 1 * * *"}
	weekly(t, day("2026-10-24"), day("2026-11-03"), zones, func(w *week) {}) // 25 October and 1 November
}

func TestAWeekWithThreeDaysDownGoesOnOnPlan(t *testing.T) {
	weekly(t, day("2026-03-02"), day("2026-03-09"), map[string]string{"Europe/Sofia": "30 3 * * *"}, func(w *week) {
		w.until(day("2026-03-03").Add(5*time.Hour + 40*time.Minute)) // in the middle of a long run
		w.stop()
		w.until(day("2026-03-06").Add(5*time.Hour + 40*time.Minute))
		w.run()
	})
}

// setTwice moves the clock before a nominal time, and on another day after one.
func setTwice(by time.Duration) func(w *week) {
	return func(w *week) {
		w.until(day("2026-03-03").Add(6 * time.Hour))
		w.set(by)
		w.until(day("2026-03-05").Add(6*time.Hour + 20*time.Minute))
		w.set(by)
	}
}

func TestAWeekWithTheClockSetBackGoesOnOnPlan(t *testing.T) {
	weekly(t, day("2026-03-02"), day("2026-03-09"), map[string]string{"Europe/Sofia": "30 3 * * *"}, setTwice(-time.Hour))
}

func TestAWeekWithTheClockSetForwardGoesOnOnPlan(t *testing.T) {
	weekly(t, day("2026-03-02"), day("2026-03-09"), map[string]string{"Europe/Sofia": "30 3 * * *"}, setTwice(time.Hour))
}
