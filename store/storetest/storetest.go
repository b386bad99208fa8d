// Package storetest is the one conformance suite that every database must
// pass. A database brings a way to open a fresh store under a clock of the
// test's; the suite brings the cases.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// Open opens a store on a fresh database. It is closed by the test's cleanup.
type Open func(t *testing.T, o store.Options) *store.Store

// Clock is a clock that stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Epoch is when every case begins: a Monday at noon.
var Epoch = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move moves the clock, back too.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bench is what a case works with.
type bench struct {
	*testing.T
	ctx   context.Context
	st    *store.Store
	clock *Clock
}

// Run runs every case on stores that open makes.
func Run(t *testing.T, open Open) {
	for name, fn := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &Clock{now: Epoch}
			b := &bench{T: t, ctx: t.Context(), clock: clock}
			b.st = open(t, store.Options{Clock: clock.Now})
			fn(b)
		})
	}
}

// cases are the suite, by the sentence each of them shows. Files of this
// package add to it.
var cases = map[string]func(*bench){}

func add(sentence string, fn func(*bench)) {
	if cases[sentence] != nil {
		panic("two cases say: " + sentence)
	}
	cases[sentence] = fn
}

func must[T any](v T, err error) func(*bench) T {
	return func(b *bench) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// task saves a func task.
func (b *bench) task(name string, change ...func(*belfry.Task)) belfry.Task {
	b.Helper()
	t := belfry.Task{Name: name, Kind: belfry.KindFunc, Retry: belfry.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	return must(b.st.CreateTask(b.ctx, t))(b)
}

// schedule saves a schedule of a task.
func (b *bench) schedule(name, task string, change ...func(*belfry.Schedule)) belfry.Schedule {
	b.Helper()
	s := belfry.Schedule{Name: name, Task: task}
	for _, fn := range change {
		fn(&s)
	}
	return must(b.st.CreateSchedule(b.ctx, s))(b)
}

func every(d time.Duration) func(*belfry.Schedule) {
	return func(s *belfry.Schedule) {
		s.Rules = []belfry.Rule{{Every: belfry.Duration(d)}}
		s.Start = Epoch
	}
}

func afterFinish(d time.Duration) func(*belfry.Schedule) {
	return func(s *belfry.Schedule) {
		s.Rules = []belfry.Rule{{Every: belfry.Duration(d), Anchor: belfry.AnchorFinish}}
	}
}

// session opens a session that runs the given funcs, in the default queue.
func (b *bench) session(funcs ...string) belfry.Session {
	b.Helper()
	return must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{
		Name: "tester", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10},
	}))(b)
}

// enqueue asks for one job.
func (b *bench) enqueue(n belfry.NewJob) belfry.Job {
	b.Helper()
	return must(b.st.Enqueue(b.ctx, []belfry.NewJob{n}))(b)[0].Job
}

// claim leases up to n jobs, without waiting.
func (b *bench) claim(s belfry.Session, n int) belfry.Claim {
	b.Helper()
	return must(b.st.Claim(b.ctx, belfry.ClaimRequest{Session: s.ID, Want: map[string]int{"default": n}}))(b)
}

// finish settles one leased job.
func (b *bench) finish(s belfry.Session, j belfry.LeasedJob, outcome belfry.Outcome, change ...func(*belfry.Finish)) belfry.Finished {
	b.Helper()
	f := belfry.Finish{Ref: belfry.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: outcome}
	if outcome == belfry.OutcomeError {
		f.Error = "it broke"
	}
	for _, fn := range change {
		fn(&f)
	}
	return must(b.st.Finish(b.ctx, s.ID, []belfry.Finish{f}))(b)[0]
}

// fire fires what is due.
func (b *bench) fire() belfry.Fired {
	b.Helper()
	return must(b.st.FireDue(b.ctx))(b)
}

// job reads a job.
func (b *bench) job(id int64) belfry.Job {
	b.Helper()
	return must(b.st.Job(b.ctx, belfry.AnyNamespace, id))(b)
}

// wantState fails unless the job is in the state.
func (b *bench) wantState(id int64, want belfry.JobState) belfry.Job {
	b.Helper()
	j := b.job(id)
	if j.State != want {
		b.Fatalf("job %d is %s (%s %s), want %s", id, j.State, j.Reason, j.Error, want)
	}
	return j
}

// occurrences lists what was decided for a schedule, oldest first.
func (b *bench) occurrences(name string) []belfry.Occurrence {
	b.Helper()
	p := must(b.st.Occurrences(b.ctx, belfry.OccurrenceFilter{Namespace: "default", Schedule: name, Paging: belfry.Paging{Limit: 1000}}))(b)
	for i, k := 0, len(p.Items)-1; i < k; i, k = i+1, k-1 {
		p.Items[i], p.Items[k] = p.Items[k], p.Items[i]
	}
	return p.Items
}
