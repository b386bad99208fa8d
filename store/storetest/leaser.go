package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Admin is the operator's interface that the cases of [RunLeaser] need beside the broker under test.
type Admin interface {
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error)
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	CancelJobs(ctx context.Context, namespace string, sel view.Selection) (view.Selected, error)
	RetryJobs(ctx context.Context, namespace string, sel view.Selection) (view.Selected, error)
	RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (job.Enqueued, error)
	JobSteps(ctx context.Context, namespace string, id int64) ([]job.Step, error)
	ResetSteps(ctx context.Context, namespace string, id int64, r job.StepReset) (int, error)
	SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (job.SentSignal, error)
	DrainWorker(ctx context.Context, session string) error
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error)
	Promote(ctx context.Context) (job.Promoted, error)
	ReleaseLost(ctx context.Context) (job.Released, error)
	// Move moves the clock that decides.
	Move(d time.Duration)
}

// NewAdmin returns the operator's interface of a store with a test's clock.
func NewAdmin(st *store.Store, clock *Clock) Admin { return admin{st, clock} }

type admin struct {
	*store.Store
	clock *Clock
}

func (a admin) Move(d time.Duration) { a.clock.Move(d) }

// RunLeaser runs the cases of a broker. open returns a broker on a fresh store with the usual session time, and the operator's
// interface of that store.
func RunLeaser(t *testing.T, open func(t *testing.T) (job.Leaser, Admin)) {
	for name, fn := range leaserCases {
		t.Run("leaser: "+name, func(t *testing.T) {
			t.Parallel()
			d := &leaserBench{T: t, ctx: t.Context(), settled: map[string]int64{}}
			d.br, d.ad = open(t)
			fn(d)
		})
	}
}

var leaserCases = map[string]func(*leaserBench){}

func addLeaser(sentence string, fn func(*leaserBench)) {
	if leaserCases[sentence] != nil {
		panic("two cases say: " + sentence)
	}
	leaserCases[sentence] = fn
}

// leaserBench is the environment of a case of a broker.
type leaserBench struct {
	*testing.T
	ctx context.Context
	br  job.Leaser
	ad  Admin

	settled map[string]int64 // by session, from its last renewal
}

// lost is longer than a session lives without a renewal, including the grace period.
const lost = 30*time.Second + job.LostGrace + time.Second

func (d *leaserBench) task(name string, change ...func(*task.Task)) {
	d.Helper()
	t := task.Task{Name: name, Kind: task.KindFunc, Retry: task.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	must(d.ad.CreateTask(d.ctx, t))(d)
}

func attempts(n int) func(*task.Task) { return func(t *task.Task) { t.Retry.MaxAttempts = n } }

func (d *leaserBench) enqueue(ns ...job.NewJob) []int64 {
	d.Helper()
	var ids []int64
	for _, e := range must(d.ad.Enqueue(d.ctx, ns))(d) {
		ids = append(ids, e.Job.ID)
	}
	return ids
}

func (d *leaserBench) one(task string) int64 {
	d.Helper()
	return d.enqueue(job.NewJob{Task: task})[0]
}

func (d *leaserBench) session(funcs ...string) string {
	d.Helper()
	return d.open(job.WorkerInfo{Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10}})
}

func (d *leaserBench) open(w job.WorkerInfo) string {
	d.Helper()
	w.Name = "tester"
	return must(d.br.OpenSession(d.ctx, w))(d).ID
}

func (d *leaserBench) claim(session string, n int) job.Claim {
	d.Helper()
	return d.claimFrom(session, map[string]int{"default": n})
}

func (d *leaserBench) claimFrom(session string, want map[string]int) job.Claim {
	d.Helper()
	return must(d.br.Claim(d.ctx, job.ClaimRequest{Session: session, Want: want}))(d)
}

// claimOne leases exactly one job.
func (d *leaserBench) claimOne(session string) job.Ref {
	d.Helper()
	c := d.claim(session, 1)
	want(d, "jobs claimed", len(c.Jobs), 1)
	want(d, "lease of the job", c.Jobs[0].Job.Lease, c.Lease)
	return refOf(c.Jobs[0])
}

func (d *leaserBench) finish(session string, ref job.Ref, outcome job.Outcome, change ...func(*job.Finish)) job.Finished {
	d.Helper()
	f := job.Finish{Ref: ref, Outcome: outcome}
	for _, fn := range change {
		fn(&f)
	}
	got := must(d.br.Finish(d.ctx, session, []job.Finish{f}))(d)
	want(d, "answers", len(got), 1)
	want(d, "answer is for", got[0].Ref, ref)
	return got[0]
}

func (d *leaserBench) renew(session string, refs ...job.Ref) job.Renewal {
	d.Helper()
	return d.renewOf(session, job.Held(refs...))
}

// renewOf renews with the values that the previous renewal returned, as workers do.
func (d *leaserBench) renewOf(session string, has job.Holdings) job.Renewal {
	d.Helper()
	has.Settled = d.settled[session]
	r := must(d.br.Renew(d.ctx, session, has))(d)
	d.settled[session] = r.Settled
	return r
}

func (d *leaserBench) job(id int64) job.Job {
	d.Helper()
	return must(d.ad.Job(d.ctx, core.AnyNamespace, id))(d)
}

func (d *leaserBench) wantState(id int64, state job.State) job.Job {
	d.Helper()
	j := d.job(id)
	want(d, fmt.Sprintf("state of job %d (%s %s)", id, j.Reason, j.Error), j.State, state)
	return j
}

// outcomes returns how the attempts of a job ended, oldest first.
func (d *leaserBench) outcomes(id int64) string {
	d.Helper()
	var all []string
	for i, a := range must(d.ad.Attempts(d.ctx, core.AnyNamespace, id))(d) {
		want(d, "number of the attempt", a.Number, i+1)
		all = append(all, string(a.Outcome))
	}
	return strings.Join(all, " ")
}

func (d *leaserBench) texts(id int64) string {
	d.Helper()
	var all []string
	for _, l := range must(d.ad.Logs(d.ctx, core.AnyNamespace, id, job.LogFilter{}))(d).Items {
		all = append(all, l.Text)
	}
	return strings.Join(all, "|")
}

func (d *leaserBench) promote() {
	d.Helper()
	must(d.ad.Promote(d.ctx))(d)
}

func (d *leaserBench) release() int {
	d.Helper()
	return must(d.ad.ReleaseLost(d.ctx))(d).Jobs
}

// Move moves the clock that decides.
func (d *leaserBench) Move(by time.Duration) { d.ad.Move(by) }

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func canSend(raw json.RawMessage) bool { return json.Valid(raw) }
