package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A fire that ends the run of before holds the schedule, for which the end of that run waits. It must not wait for this one:
// the schedule is left for the next pass, and others go on.
func TestAFireWaitsForNoJobThatItEnds(t *testing.T) {
	t.Parallel()
	r := newReplacing(t)
	r.fire()
	r.jobs("s", 1)
	r.jobs("beside", 1)
	other := r.holdJobs()
	r.waits(false, func() error { r.late.Add(1); _, err := r.st.FireDue(r.ctx); return err })
	r.jobs("s", 1)
	r.jobs("beside", 2)
	if err := other.Commit(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.fire()
	r.jobs("s", 1) // the newest alone: those before had not begun
	if n := number(t, r.st, "select min(nominal) from belfry.jobs where schedule = 's'"); n != r.now().UnixMicro() {
		t.Errorf("the job is of %d", n)
	}
}

// A change of one schedule that meets such a job waits for it, as long as who asks does, and holds nothing meanwhile.
func TestAResumeWaitsForAJobThatItEnds(t *testing.T) {
	t.Parallel()
	r := newReplacing(t)
	r.fire()
	s, err := r.st.OpenSession(r.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 2}})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.st.Claim(r.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 2}}); err != nil || len(c.Jobs) != 2 {
		t.Fatal(c, err)
	}
	if _, err := r.st.PauseSchedule(r.ctx, "default", "s", ""); err != nil {
		t.Fatal(err)
	}
	r.late.Add(1)
	other := r.holdJobs()
	r.waits(true, func() error { _, err := r.st.ResumeSchedule(r.ctx, "default", "s", true); return err }, func() {
		if _, err := other.Exec(r.ctx, `select from belfry.schedules for update nowait`); err != nil {
			t.Error(err)
		}
		if err := other.Commit(r.ctx); err != nil {
			t.Fatal(err)
		}
	})
	if n := number(t, r.st, "select count(*) from belfry.running where cancel_at > 0"); n != 1 {
		t.Errorf("%d jobs are asked to end", n)
	}
}

// replacing has two schedules of every minute, one of which ends its earlier run.
type replacing struct {
	*testing.T
	ctx  context.Context
	st   *store.Store
	late *atomic.Int64 // minutes
}

func newReplacing(t *testing.T) *replacing {
	r := &replacing{T: t, ctx: t.Context(), late: new(atomic.Int64)}
	r.st = open(t, store.Options{Clock: r.now})
	if _, err := r.st.CreateTask(r.ctx, task.Task{Name: "t", Kind: task.KindFunc}); err != nil {
		t.Fatal(err)
	}
	for name, overlap := range map[string]schedule.Overlap{"s": schedule.OverlapCancelOther, "beside": schedule.OverlapAllow} {
		if _, err := r.st.CreateSchedule(r.ctx, schedule.Schedule{Name: name, Task: "t", Overlap: overlap, Rules: []schedule.Rule{{Cron: "* * * * *"}}}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *replacing) now() time.Time {
	return time.Date(2026, 5, 1, 12, int(r.late.Load()), 0, 0, time.UTC)
}

func (r *replacing) fire() {
	r.Helper()
	r.late.Add(1)
	if _, err := r.st.FireDue(r.ctx); err != nil {
		r.Fatal(err)
	}
}

func (r *replacing) jobs(schedule string, want int64) {
	r.Helper()
	if n := number(r.T, r.st, "select count(*) from belfry.jobs where schedule = $1", schedule); n != want {
		r.Errorf("%s has %d jobs, want %d", schedule, n, want)
	}
}

// holdJobs is another transaction that is changing all jobs.
func (r *replacing) holdJobs() pgx.Tx {
	r.Helper()
	other, err := r.st.DB().(*postgres.DB).Pool().Begin(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = other.Rollback(context.Background()) })
	if _, err := other.Exec(r.ctx, `select from belfry.jobs for update`); err != nil {
		r.Fatal(err)
	}
	return other
}

// waits takes a transition and reports whether it does not wait for others as it should, or not. Then is done when it waits.
func (r *replacing) waits(should bool, do func() error, then ...func()) {
	r.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	for waited := false; ; {
		select {
		case err := <-done:
			if err != nil || waited != should {
				r.Fatalf("it waited: %v, and ended: %v", waited, err)
			}
			return
		default:
		}
		if !waited && number(r.T, r.st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0 {
			if waited = true; !should {
				r.Fatal("it waits")
			}
			for _, f := range then {
				f()
			}
		}
	}
}
