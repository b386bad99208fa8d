package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// node is a store on a file, with an engine and a worker, under the clock of the
// bubble.
type node struct {
	st       *store.Store
	handlers *worker.Handlers
}

// simulate runs a node inside a bubble with a fake clock.
func simulate(t *testing.T, register func(h *worker.Handlers), fn func(t *testing.T, n *node)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st, err := sqlite.Open(ctx, filepath.Join(dir, "belfry.db"), sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Poll: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		h := &worker.Handlers{}
		register(h)
		e, err := engine.New(engine.Options{Store: st, Release: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		w, err := worker.New(worker.Options{Leaser: st, Handlers: h, Poll: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		go func() { ended <- e.Run(ctx) }()
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		fn(t, &node{st, h})
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (n *node) schedule(t *testing.T, s schedule.Schedule) {
	t.Helper()
	if _, err := n.st.CreateSchedule(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func (n *node) occurrences(t *testing.T, name string) []schedule.Occurrence {
	t.Helper()
	p, err := n.st.Occurrences(t.Context(), schedule.OccurrenceFilter{Namespace: "default", Schedule: name, Paging: core.Paging{Limit: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Items
}

func TestASimulatedDayRunsEveryQuarterOfAnHourAndRetries(t *testing.T) {
	var calls atomic.Int64
	simulate(t, func(h *worker.Handlers) {
		worker.Handle(h, "flaky", func(ctx context.Context, _ struct{}) (string, error) {
			if j, _ := worker.JobFrom(ctx); j.Attempt == 1 {
				return "", errors.New("the first try fails")
			}
			calls.Add(1)
			time.Sleep(2 * time.Minute) // four lease times
			return "ok", nil
		})
	}, func(t *testing.T, n *node) {
		start := time.Now().Truncate(15 * time.Minute).Add(15 * time.Minute)
		n.schedule(t, schedule.Schedule{Name: "quarter", Task: "flaky", Start: start, Rules: []schedule.Rule{{Every: core.Duration(15 * time.Minute)}}})
		time.Sleep(time.Until(start) + 24*time.Hour - time.Minute)
		synctest.Wait()
		os := n.occurrences(t, "quarter")
		if len(os) != 96 || calls.Load() != 96 {
			t.Fatalf("a day of a 15-minute schedule has %d occurrences and %d successes, want 96 of each", len(os), calls.Load())
		}
		for i, o := range os {
			want := start.Add(time.Duration(95-i) * 15 * time.Minute)
			if o.Decision != schedule.DecidedJob || !o.Nominal.Equal(want) || o.DecidedAt.Sub(o.Nominal) > 10*time.Millisecond {
				t.Fatalf("occurrence is %+v, want a job at %s", o, want)
			}
		}
	})
}

func TestARuleFromTheFinishKeepsItsDistance(t *testing.T) {
	var starts []time.Time
	simulate(t, func(h *worker.Handlers) {
		worker.Handle(h, "poll", func(context.Context, struct{}) (int, error) {
			starts = append(starts, time.Now())
			time.Sleep(40 * time.Second)
			return 0, nil
		})
	}, func(t *testing.T, n *node) {
		n.schedule(t, schedule.Schedule{Name: "poll", Task: "poll", Rules: []schedule.Rule{{Every: core.Duration(time.Minute), Anchor: schedule.AnchorFinish}}})
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(starts) < 35 || len(starts) > 37 {
			t.Fatalf("runs of 40 s with a minute between start %d times in an hour, want 35 to 37", len(starts))
		}
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-1]); gap < 100*time.Second || gap > 101*time.Second {
				t.Fatalf("run %d started %s after the previous run, want 100s to 101s", i, gap)
			}
		}
	})
}

func TestEngineWithNothingDueAtStartRunsLaterJobs(t *testing.T) {
	var ran atomic.Int64
	simulate(t, func(h *worker.Handlers) {
		worker.Handle(h, "later", func(context.Context, struct{}) (int, error) { return int(ran.Add(1)), nil })
	}, func(t *testing.T, n *node) {
		time.Sleep(time.Hour) // an engine with nothing to do for long
		n.schedule(t, schedule.Schedule{Name: "later", Task: "later", Rules: []schedule.Rule{{At: []time.Time{time.Now().Add(5 * time.Hour)}}}})
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		if ran.Load() != 0 {
			t.Fatal("job ran before its time")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if ran.Load() != 1 {
			t.Fatalf("job ran %d times, want once", ran.Load())
		}
		sc, err := n.st.Schedule(t.Context(), "default", "later")
		if err != nil || sc.State != schedule.Completed {
			t.Fatalf("schedule is %s, %v, want completed", sc.State, err)
		}
	})
}

func TestRunnerFiresOnceWithoutStart(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // the test is over
	r, err := engine.NewRunner(engine.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "now", Kind: task.KindFunc}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateSchedule(t.Context(), schedule.Schedule{Name: "now", Task: "now", Rules: []schedule.Rule{{Every: core.Duration(time.Hour), Anchor: schedule.AnchorFinish}}}); err != nil {
		t.Fatal(err)
	}
	if n, err := r.RunOnce(t.Context()); n != 1 || err != nil {
		t.Fatalf("first RunOnce returned %d, %v, want 1 job", n, err)
	}
	if n, err := r.RunOnce(t.Context()); n != 0 || err != nil {
		t.Fatalf("second RunOnce returned %d, %v, want 0 jobs", n, err)
	}
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "around", Cycle: &task.Cycle{Members: []task.Member{{Task: "now"}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.RunCycle(t.Context(), "default", "around"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := st.CycleStatus(t.Context(), "default", "around"); err != nil || c.Run == nil || c.Run.Current != "now" {
		t.Fatalf("run of the cycle is %+v, %v, want current member now", c.Run, err)
	}
	if r.IsRunning() {
		t.Fatal("runs without Start")
	}
	if err := errors.Join(r.Stop(t.Context()), r.Start(t.Context()), r.Stop(t.Context()), r.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
}
