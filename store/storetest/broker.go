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

// Admin is what the cases of [RunBroker] need of an operator, beside the
// broker that is tried.
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

// NewAdmin is a store whose clock is the test's.
func NewAdmin(st *store.Store, clock *Clock) Admin { return admin{st, clock} }

type admin struct {
	*store.Store
	clock *Clock
}

func (a admin) Move(d time.Duration) { a.clock.Move(d) }

// RunBroker runs the cases of a broker. open makes a broker on a fresh store
// with the usual session time, and a way to operate that store.
func RunBroker(t *testing.T, open func(t *testing.T) (job.Leaser, Admin)) {
	for name, fn := range brokerCases {
		t.Run("broker: "+name, func(t *testing.T) {
			t.Parallel()
			d := &desk{T: t, ctx: t.Context(), settled: map[string]int64{}}
			d.br, d.ad = open(t)
			fn(d)
		})
	}
}

var brokerCases = map[string]func(*desk){}

func addBroker(sentence string, fn func(*desk)) {
	if brokerCases[sentence] != nil {
		panic("two cases say: " + sentence)
	}
	brokerCases[sentence] = fn
}

// desk is what a case of a broker works with.
type desk struct {
	*testing.T
	ctx context.Context
	br  job.Leaser
	ad  Admin

	settled map[string]int64 // by session, of its last renewal
}

// lost is longer than a session lives without a renewal, grace included.
const lost = 30*time.Second + job.LostGrace + time.Second

func (d *desk) task(name string, change ...func(*task.Task)) {
	d.Helper()
	t := task.Task{Name: name, Kind: task.KindFunc, Retry: task.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	must(d.ad.CreateTask(d.ctx, t))(d)
}

func attempts(n int) func(*task.Task) { return func(t *task.Task) { t.Retry.MaxAttempts = n } }

func (d *desk) enqueue(ns ...job.NewJob) []int64 {
	d.Helper()
	var ids []int64
	for _, e := range must(d.ad.Enqueue(d.ctx, ns))(d) {
		ids = append(ids, e.Job.ID)
	}
	return ids
}

func (d *desk) one(task string) int64 {
	d.Helper()
	return d.enqueue(job.NewJob{Task: task})[0]
}

func (d *desk) session(funcs ...string) string {
	d.Helper()
	return d.open(job.WorkerInfo{Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10}})
}

func (d *desk) open(w job.WorkerInfo) string {
	d.Helper()
	w.Name = "tester"
	return must(d.br.OpenSession(d.ctx, w))(d).ID
}

func (d *desk) claim(session string, n int) job.Claim {
	d.Helper()
	return d.claimFrom(session, map[string]int{"default": n})
}

func (d *desk) claimFrom(session string, want map[string]int) job.Claim {
	d.Helper()
	return must(d.br.Claim(d.ctx, job.ClaimRequest{Session: session, Want: want}))(d)
}

// claimOne leases exactly one job.
func (d *desk) claimOne(session string) job.Ref {
	d.Helper()
	c := d.claim(session, 1)
	want(d, "jobs claimed", len(c.Jobs), 1)
	want(d, "lease of the job", c.Jobs[0].Job.Lease, c.Lease)
	return refOf(c.Jobs[0])
}

func (d *desk) finish(session string, ref job.Ref, outcome job.Outcome, change ...func(*job.Finish)) job.Finished {
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

func (d *desk) renew(session string, refs ...job.Ref) job.Renewal {
	d.Helper()
	return d.renewOf(session, job.Held(refs...))
}

// renewOf echoes, as workers do, what the renewal before was answered.
func (d *desk) renewOf(session string, has job.Holdings) job.Renewal {
	d.Helper()
	has.Settled = d.settled[session]
	r := must(d.br.Renew(d.ctx, session, has))(d)
	d.settled[session] = r.Settled
	return r
}

func (d *desk) job(id int64) job.Job {
	d.Helper()
	return must(d.ad.Job(d.ctx, core.AnyNamespace, id))(d)
}

func (d *desk) wantState(id int64, state job.State) job.Job {
	d.Helper()
	j := d.job(id)
	want(d, fmt.Sprintf("state of job %d (%s %s)", id, j.Reason, j.Error), j.State, state)
	return j
}

// outcomes are how the attempts of a job ended, oldest first.
func (d *desk) outcomes(id int64) string {
	d.Helper()
	var all []string
	for i, a := range must(d.ad.Attempts(d.ctx, core.AnyNamespace, id))(d) {
		want(d, "number of the attempt", a.Number, i+1)
		all = append(all, string(a.Outcome))
	}
	return strings.Join(all, " ")
}

func (d *desk) texts(id int64) string {
	d.Helper()
	var all []string
	for _, l := range must(d.ad.Logs(d.ctx, core.AnyNamespace, id, job.LogFilter{}))(d).Items {
		all = append(all, l.Text)
	}
	return strings.Join(all, "|")
}

func (d *desk) promote() {
	d.Helper()
	must(d.ad.Promote(d.ctx))(d)
}

func (d *desk) release() int {
	d.Helper()
	return must(d.ad.ReleaseLost(d.ctx))(d).Jobs
}

// Move moves the clock that decides.
func (d *desk) Move(by time.Duration) { d.ad.Move(by) }

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func canSend(raw json.RawMessage) bool { return json.Valid(raw) }
