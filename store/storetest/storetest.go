// Package storetest is the conformance suite that every database must pass. A database provides a way to open a fresh store
// with a test's clock. The suite provides the cases, each named by a sentence.
//
// [Run] is the whole suite. [RunLeaser] is the part that a worker sees. It needs only a [job.Leaser] and a few verbs of an
// operator, so the same cases pass through HTTP. [RunNodes] has the cases of several stores on one database, and [RunTx] the
// cases of a caller's transaction.
package storetest

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// Open opens a store on a fresh database. The test's cleanup closes it.
type Open func(t *testing.T, o store.Options) *store.Store

// ClaimPath is a variant of the claim path with a part turned off: the same cases must pass.
type ClaimPath struct {
	Name    string
	Options store.Options
	broker  bool // the variant only affects calls of workers
}

// ClaimPaths are all variants.
var ClaimPaths = []ClaimPath{
	{Name: "plain", Options: store.Options{Claims: store.Claims{Plain: true}}},
	{Name: "everything off", Options: store.Options{Claims: store.Claims{NoJoin: true, NoGather: true, NoPacks: true, NoForesight: true, NoMark: true, NoKnown: true}}, broker: true},
	{Name: "packs", Options: store.Options{PackFrom: 1}},
}

// idle holds the cases that claim nothing. On another claim path they would do the same as on the fast one.
var idle = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.Lines(idleLines) {
		names[strings.TrimSpace(name)] = true
	}
	return names
}()

//go:embed idle.txt
var idleLines string

// Clock is a clock that stands still until the test moves it.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	mono time.Duration
}

// Epoch is the start of every case: a Monday at noon.
var Epoch = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// NewClock returns a clock that stands at the [Epoch].
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move moves the clock, also back.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.mono += max(0, d)
}

// Set changes the clock while no time passes, as an operator does.
func (c *Clock) Set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Mono returns the time that has passed.
func (c *Clock) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

// bench is the environment of a case.
type bench struct {
	*testing.T
	ctx       context.Context
	st        *store.Store
	clock     *Clock
	artifacts *MemoryArtifacts
	tally     *tally

	settled map[string]int64 // by session, from its last renewal
}

// Run runs every case on stores from open.
func Run(t *testing.T, open Open) { run(t, open, func(string) bool { return true }) }

// Run is [Run] on stores of that path, without the cases that claim nothing.
func (p ClaimPath) Run(t *testing.T, open Open) {
	run(t, p.On(open), func(name string) bool { return !idle[name] && !p.broker })
}

// On returns open with the options of the path.
func (p ClaimPath) On(open Open) Open {
	return func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		return open(t, p.of(o))
	}
}

func (p ClaimPath) of(o store.Options) store.Options {
	o.PackFrom, o.Claims = p.Options.PackFrom, p.Options.Claims
	return o
}

func run(t *testing.T, open Open, wanted func(name string) bool) {
	for name := range idle {
		if cases[name] == nil && nodeCases[name] == nil {
			t.Errorf("idle.txt has a line of no case: %s", name)
		}
	}
	for _, name := range portion.Names(t, cases) {
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open)
			cases[name](b)
			claimsNothing(b, name)
		})
	}
	RunLeaser(t, func(t *testing.T) (job.Leaser, Admin) {
		b := newBench(t, open)
		return b.st, NewAdmin(b.st, b.clock)
	})
}

// claimsNothing fails an idle case that claims.
func claimsNothing(b *bench, name string) {
	b.Helper()
	if idle[name] && b.tally.of("claimed") > 0 {
		b.Error("the case claims: delete its line in storetest/idle.txt, or it is not run on all claim paths")
	}
}

func newBench(t *testing.T, open Open) *bench {
	t.Helper()
	b := &bench{T: t, ctx: t.Context(), clock: NewClock(), artifacts: NewMemoryArtifacts(), tally: newTally(), settled: map[string]int64{}}
	b.st = open(t, store.Options{Clock: b.clock.Now, Bytes: b.artifacts, Sealer: newSealer(t), Observer: b.tally})
	return b
}

// cases are the cases of the suite, by the sentence that each of them shows. The files of this package add to it.
var cases = map[string]func(*bench){}

func add(sentence string, fn func(*bench)) {
	if cases[sentence] != nil {
		panic("two cases say: " + sentence)
	}
	cases[sentence] = fn
}

// failer is the part of a test that must and its friends need.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func must[T any](v T, err error) func(failer) T {
	return func(t failer) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode fails unless err has the code, and its text contains all the words.
func wantCode(t failer, err error, code core.Code, words ...string) {
	t.Helper()
	if core.CodeOf(err) != code {
		t.Fatalf("error %v has code %q, want %q", err, core.CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("error %q does not say %q", err, w)
		}
	}
}

// want fails unless got equals wanted.
func want[T comparable](t failer, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Fatalf("%s: got %v, want %v", what, got, wanted)
	}
}

// task saves a func task.
func (b *bench) task(name string, change ...func(*task.Task)) task.Task {
	b.Helper()
	t := task.Task{Name: name, Kind: task.KindFunc, Retry: task.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	return must(b.st.CreateTask(b.ctx, t))(b)
}

// schedule saves a schedule of a task.
func (b *bench) schedule(name, task string, change ...func(*schedule.Schedule)) schedule.Schedule {
	b.Helper()
	s := schedule.Schedule{Name: name, Task: task}
	for _, fn := range change {
		fn(&s)
	}
	return must(b.st.CreateSchedule(b.ctx, s))(b)
}

func every(d time.Duration) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) {
		s.Rules = []schedule.Rule{{Every: core.Duration(d)}}
		s.Start = Epoch
	}
}

func afterFinish(d time.Duration) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) {
		s.Rules = []schedule.Rule{{Every: core.Duration(d), Anchor: schedule.AnchorFinish}}
	}
}

// session opens a session that runs the given funcs from the default queue.
func (b *bench) session(funcs ...string) job.Session {
	b.Helper()
	return must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10},
	}))(b)
}

// enqueue enqueues one job.
func (b *bench) enqueue(n job.NewJob) job.Job {
	b.Helper()
	return must(b.st.Enqueue(b.ctx, []job.NewJob{n}))(b)[0].Job
}

// claim claims up to n jobs without waiting.
func (b *bench) claim(s job.Session, n int) job.Claim {
	b.Helper()
	return must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": n}}))(b)
}

// finish settles one leased job.
func (b *bench) finish(s job.Session, j job.LeasedJob, outcome job.Outcome, change ...func(*job.Finish)) job.Finished {
	b.Helper()
	f := job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: outcome}
	if outcome == job.OutcomeError {
		f.Error = "it broke"
	}
	for _, fn := range change {
		fn(&f)
	}
	return must(b.st.Finish(b.ctx, s.ID, []job.Finish{f}))(b)[0]
}

// fire fires the due schedules.
func (b *bench) fire() job.Fired {
	b.Helper()
	return must(b.st.FireDue(b.ctx))(b)
}

// promote makes due jobs ready, and returns their number.
func (b *bench) promote() int {
	b.Helper()
	return must(b.st.Promote(b.ctx))(b).Jobs
}

// release gives up lost sessions, and returns the number of settled jobs.
func (b *bench) release() int {
	b.Helper()
	return must(b.st.ReleaseLost(b.ctx))(b).Jobs
}

// renew renews a session whose worker holds these jobs.
func (b *bench) renew(s job.Session, jobs ...job.LeasedJob) job.Renewal {
	b.Helper()
	refs := make([]job.Ref, len(jobs))
	for i, j := range jobs {
		refs[i] = refOf(j)
	}
	has := job.Held(refs...)
	has.Settled = b.settled[s.ID]
	r := must(b.st.Renew(b.ctx, s.ID, has))(b)
	b.settled[s.ID] = r.Settled
	return r
}

func refOf(j job.LeasedJob) job.Ref {
	return job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
}

// get reads a schedule.
func (b *bench) get(schedule string) schedule.Schedule {
	b.Helper()
	return must(b.st.Schedule(b.ctx, "default", schedule))(b)
}

// cancel cancels jobs by id.
func (b *bench) cancel(ids ...int64) view.Selected {
	b.Helper()
	return must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: ids}))(b)
}

// retry retries jobs by id.
func (b *bench) retry(ids ...int64) view.Selected {
	b.Helper()
	return must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: ids}))(b)
}

// retryRun retries a run of a workflow.
func retryRun(b *bench, id int64, r workflow.Retrying) error {
	_, err := b.st.RetryWorkflow(b.ctx, "default", id, r)
	return err
}

// jobsOf lists the jobs of a schedule, oldest first.
func (b *bench) jobsOf(schedule string, states ...job.State) []job.Job {
	b.Helper()
	p := must(b.st.Jobs(b.ctx, job.Filter{Schedule: schedule, States: states, Paging: core.Paging{Limit: 1000}}))(b)
	slices.Reverse(p.Items)
	return p.Items
}

// sql changes rows directly, in a way that Belfry never does.
func (b *bench) sql(statement string, args ...any) {
	b.Helper()
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(b.ctx, statement, args...)
		return err
	}))
}

// count reads one number.
func (b *bench) count(query string, args ...any) int64 {
	b.Helper()
	return count(b, b.ctx, b.st, query, args...)
}

func count(t failer, ctx context.Context, st *store.Store, query string, args ...any) (n int64) {
	t.Helper()
	ok(t, st.DB().Read(ctx, func(tx base.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&n); err != nil {
				return err
			}
		}
		return rows.Err()
	}))
	return n
}

// together runs fn n times at once, in goroutines that start together, and waits for them. fn must not end the test.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			fn(i)
		})
	}
	close(begin)
	all.Wait()
}

// job reads a job.
func (b *bench) job(id int64) job.Job {
	b.Helper()
	return must(b.st.Job(b.ctx, core.AnyNamespace, id))(b)
}

// wantState fails unless the job is in the state.
func (b *bench) wantState(id int64, want job.State) job.Job {
	b.Helper()
	j := b.job(id)
	if j.State != want {
		b.Fatalf("job %d is %s (%s %s), want %s", id, j.State, j.Reason, j.Error, want)
	}
	return j
}

// occurrences lists the decisions for a schedule, oldest first.
func (b *bench) occurrences(name string) []schedule.Occurrence {
	b.Helper()
	p := must(b.st.Occurrences(b.ctx, schedule.OccurrenceFilter{Namespace: "default", Schedule: name, Paging: core.Paging{Limit: 1000}}))(b)
	for i, k := 0, len(p.Items)-1; i < k; i, k = i+1, k-1 {
		p.Items[i], p.Items[k] = p.Items[k], p.Items[i]
	}
	return p.Items
}
