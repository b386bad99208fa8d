package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// Admin is what the cases of [RunBroker] need of an operator, beside the
// broker that is tried.
type Admin interface {
	CreateTask(ctx context.Context, t belfry.Task) (belfry.Task, error)
	SaveQueue(ctx context.Context, q belfry.Queue) (belfry.Queue, error)
	Enqueue(ctx context.Context, ns []belfry.NewJob) ([]belfry.Enqueued, error)
	CancelJobs(ctx context.Context, namespace string, sel belfry.Selection) (belfry.Selected, error)
	RedriveJobs(ctx context.Context, namespace string, sel belfry.Selection) (belfry.Selected, error)
	DrainWorker(ctx context.Context, session string) error
	Job(ctx context.Context, namespace string, id int64) (belfry.Job, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]belfry.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f belfry.LogFilter) (belfry.Page[belfry.LogLine], error)
	Promote(ctx context.Context) (belfry.Promoted, error)
	ReleaseLost(ctx context.Context) (belfry.Released, error)
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
func RunBroker(t *testing.T, open func(t *testing.T) (belfry.Broker, Admin)) {
	for name, fn := range brokerCases {
		t.Run("broker: "+name, func(t *testing.T) {
			t.Parallel()
			d := &desk{T: t, ctx: t.Context()}
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
	br  belfry.Broker
	ad  Admin
}

// lost is longer than a session lives without a renewal, grace included.
const lost = 30*time.Second + belfry.LostGrace + time.Second

func (d *desk) task(name string, change ...func(*belfry.Task)) {
	d.Helper()
	t := belfry.Task{Name: name, Kind: belfry.KindFunc, Retry: belfry.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	must(d.ad.CreateTask(d.ctx, t))(d)
}

func attempts(n int) func(*belfry.Task) { return func(t *belfry.Task) { t.Retry.MaxAttempts = n } }

func (d *desk) enqueue(ns ...belfry.NewJob) []int64 {
	d.Helper()
	var ids []int64
	for _, e := range must(d.ad.Enqueue(d.ctx, ns))(d) {
		ids = append(ids, e.Job.ID)
	}
	return ids
}

func (d *desk) one(task string) int64 {
	d.Helper()
	return d.enqueue(belfry.NewJob{Task: task})[0]
}

func (d *desk) session(funcs ...string) string {
	d.Helper()
	return d.open(belfry.WorkerInfo{Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10}})
}

func (d *desk) open(w belfry.WorkerInfo) string {
	d.Helper()
	w.Name = "tester"
	return must(d.br.OpenSession(d.ctx, w))(d).ID
}

func (d *desk) claim(session string, n int) belfry.Claim {
	d.Helper()
	return d.claimFrom(session, map[string]int{"default": n})
}

func (d *desk) claimFrom(session string, want map[string]int) belfry.Claim {
	d.Helper()
	return must(d.br.Claim(d.ctx, belfry.ClaimRequest{Session: session, Want: want}))(d)
}

// claimOne leases exactly one job.
func (d *desk) claimOne(session string) belfry.Ref {
	d.Helper()
	c := d.claim(session, 1)
	want(d, "jobs claimed", len(c.Jobs), 1)
	want(d, "lease of the job", c.Jobs[0].Job.Lease, c.Lease)
	return refOf(c.Jobs[0])
}

func (d *desk) finish(session string, ref belfry.Ref, outcome belfry.Outcome, change ...func(*belfry.Finish)) belfry.Finished {
	d.Helper()
	f := belfry.Finish{Ref: ref, Outcome: outcome}
	for _, fn := range change {
		fn(&f)
	}
	got := must(d.br.Finish(d.ctx, session, []belfry.Finish{f}))(d)
	want(d, "answers", len(got), 1)
	want(d, "answer is for", got[0].Ref, ref)
	return got[0]
}

func (d *desk) renew(session string, refs ...belfry.Ref) belfry.Renewal {
	d.Helper()
	return must(d.br.Renew(d.ctx, session, refs))(d)
}

func (d *desk) job(id int64) belfry.Job {
	d.Helper()
	return must(d.ad.Job(d.ctx, belfry.AnyNamespace, id))(d)
}

func (d *desk) wantState(id int64, state belfry.JobState) belfry.Job {
	d.Helper()
	j := d.job(id)
	want(d, fmt.Sprintf("state of job %d (%s %s)", id, j.Reason, j.Error), j.State, state)
	return j
}

// outcomes are how the attempts of a job ended, oldest first.
func (d *desk) outcomes(id int64) string {
	d.Helper()
	var all []string
	for i, a := range must(d.ad.Attempts(d.ctx, belfry.AnyNamespace, id))(d) {
		want(d, "number of the attempt", a.Number, i+1)
		all = append(all, string(a.Outcome))
	}
	return strings.Join(all, " ")
}

func (d *desk) texts(id int64) string {
	d.Helper()
	var all []string
	for _, l := range must(d.ad.Logs(d.ctx, belfry.AnyNamespace, id, belfry.LogFilter{}))(d).Items {
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

func init() {
	addBroker("the lease numbers of a job only grow, through retry, snooze, handing back, loss, deadline and redrive", func(d *desk) {
		d.task("worn", attempts(100), func(t *belfry.Task) { t.Timeout = belfry.Duration(time.Second) })
		id, last := d.one("worn"), int64(0)
		s := d.session("worn")
		claim := func() belfry.Ref {
			d.Helper()
			d.promote()
			ref := d.claimOne(s)
			if ref.JobID != id || ref.Lease <= last {
				d.Fatalf("leased %+v after lease %d", ref, last)
			}
			last = ref.Lease
			return ref
		}
		d.finish(s, claim(), belfry.OutcomeError)
		d.Move(time.Minute)
		d.renew(s)
		d.finish(s, claim(), belfry.OutcomeSnoozed, func(f *belfry.Finish) { f.Snooze = belfry.Duration(time.Second) })
		d.Move(time.Second)
		d.finish(s, claim(), belfry.OutcomeHandedBack)
		claim()
		ok(d, d.br.CloseSession(d.ctx, s))
		s = d.session("worn")
		claim()
		d.Move(lost)
		want(d, "released", d.release(), 1)
		s = d.session("worn")
		d.Move(20 * time.Second)
		d.promote()
		ref := claim()
		for range 4 {
			d.Move(20 * time.Second)
			d.renew(s, ref)
		}
		want(d, "ended at its deadline", d.job(id).State, belfry.JobScheduled)
		d.Move(40 * time.Second)
		d.renew(s)
		d.promote()
		d.finish(s, claim(), belfry.OutcomeError, func(f *belfry.Finish) { f.NoRetry = true })
		d.wantState(id, belfry.JobFailed)
		must(d.ad.RedriveJobs(d.ctx, "default", belfry.Selection{IDs: []int64{id}}))(d)
		d.finish(s, claim(), belfry.OutcomeOK)
		want(d, "outcomes", d.outcomes(id), "error snoozed handed_back handed_back lost timeout error ok")
	})

	addBroker("a finish under an older lease is refused and writes nothing", func(d *desk) {
		d.task("slow")
		id := d.one("slow")
		zombie := d.session("slow")
		old := d.claimOne(zombie)
		d.Move(lost)
		want(d, "released", d.release(), 1)
		d.Move(time.Minute)
		d.promote()
		s := d.session("slow")
		ref := d.claimOne(s)
		before := d.job(id)
		for _, o := range []belfry.Outcome{belfry.OutcomeOK, belfry.OutcomeError, belfry.OutcomeCanceled, belfry.OutcomeHandedBack} {
			if f := d.finish(zombie, old, o, func(f *belfry.Finish) { f.Output = json.RawMessage(`"late"`) }); !f.Stale || f.State != "" {
				d.Fatalf("%s: %+v", o, f)
			}
		}
		f := d.finish(zombie, old, belfry.OutcomeSnoozed, func(f *belfry.Finish) { f.Snooze = belfry.Duration(time.Hour) })
		want(d, "snooze is stale", f.Stale, true)
		after := d.job(id)
		want(d, "job before and after", jsonOf(after), jsonOf(before))
		want(d, "outcomes", d.outcomes(id), "lost")
		want(d, "the second worker's finish", d.finish(s, ref, belfry.OutcomeOK).State, belfry.JobSucceeded)
	})

	addBroker("a finish that comes twice is answered stale the second time, and the first stands", func(d *desk) {
		d.task("twice")
		id := d.one("twice")
		s := d.session("twice")
		ref := d.claimOne(s)
		want(d, "first", d.finish(s, ref, belfry.OutcomeOK).State, belfry.JobSucceeded)
		want(d, "second is stale", d.finish(s, ref, belfry.OutcomeError).Stale, true)
		d.wantState(id, belfry.JobSucceeded)
		want(d, "outcomes", d.outcomes(id), "ok")
	})

	addBroker("the same attempt twice in one batch counts once", func(d *desk) {
		d.task("twice", attempts(1))
		id := d.one("twice")
		s := d.session("twice")
		ref := d.claimOne(s)
		fs := must(d.br.Finish(d.ctx, s, []belfry.Finish{{Ref: ref, Outcome: belfry.OutcomeOK}, {Ref: ref, Outcome: belfry.OutcomeError}}))(d)
		if fs[0].Stale || !fs[1].Stale {
			d.Fatalf("%+v", fs)
		}
		d.wantState(id, belfry.JobSucceeded)
		want(d, "outcomes", d.outcomes(id), "ok")
	})

	addBroker("answers stand in the order of the question, stale ones among good ones", func(d *desk) {
		d.task("many")
		d.enqueue(slices.Repeat([]belfry.NewJob{{Task: "many"}}, 6)...)
		s := d.session("many")
		c := d.claim(s, 10)
		want(d, "claimed", len(c.Jobs), 6)
		var fs []belfry.Finish
		for i, j := range c.Jobs {
			f := belfry.Finish{Ref: refOf(j), Outcome: belfry.OutcomeOK}
			if i%2 == 1 {
				f.Lease--
			}
			fs = append(fs, f)
		}
		slices.Reverse(fs)
		fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: 1 << 40, Lease: 1 << 40}, Outcome: belfry.OutcomeOK})
		for i, got := range must(d.br.Finish(d.ctx, s, fs))(d) {
			want(d, "place", got.Ref, fs[i].Ref)
			want(d, fmt.Sprintf("answer %d is stale", i), got.Stale, fs[i].Lease != c.Lease)
		}
	})

	addBroker("a finish after the session's end but before it is given up is accepted, once", func(d *desk) {
		d.task("late")
		id := d.one("late")
		s := d.session("late")
		ref := d.claimOne(s)
		d.Move(lost)
		want(d, "finish", d.finish(s, ref, belfry.OutcomeOK).State, belfry.JobSucceeded)
		want(d, "again is stale", d.finish(s, ref, belfry.OutcomeOK).Stale, true)
		want(d, "released", d.release(), 0)
		want(d, "outcomes", d.outcomes(id), "ok")
	})

	addBroker("a finish after the session was given up is refused, though nobody has the job yet", func(d *desk) {
		d.task("late")
		id := d.one("late")
		s := d.session("late")
		ref := d.claimOne(s)
		d.Move(lost)
		want(d, "released", d.release(), 1)
		want(d, "finish is stale", d.finish(s, ref, belfry.OutcomeOK).Stale, true)
		d.wantState(id, belfry.JobScheduled)
		want(d, "outcomes", d.outcomes(id), "lost")
	})

	addBroker("a session that is late but not given up renews and goes on", func(d *desk) {
		d.task("late")
		d.one("late")
		s := d.session("late")
		ref := d.claimOne(s)
		d.Move(lost)
		want(d, "lost", d.renew(s, ref).Lost, false)
		want(d, "released", d.release(), 0)
		want(d, "finish", d.finish(s, ref, belfry.OutcomeOK).State, belfry.JobSucceeded)
	})

	addBroker("a session that ended is told so, whatever it asks", func(d *desk) {
		d.task("gone")
		id := d.one("gone")
		s := d.session("gone")
		ref := d.claimOne(s)
		d.Move(lost)
		d.release()
		want(d, "renewal says lost", d.renew(s, ref).Lost, true)
		_, err := d.br.Claim(d.ctx, belfry.ClaimRequest{Session: s, Want: map[string]int{"default": 1}})
		wantCode(d, err, belfry.Unauthorized)
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{{Ref: ref, Stream: belfry.Log, At: Epoch, Text: "too late"}}))
		want(d, "log", d.texts(id), "")
		ok(d, d.br.CloseSession(d.ctx, s))
		want(d, "an unknown one is lost", d.renew("0195f2a4-0000-7000-8000-000000000000").Lost, true)
		_, err = d.br.Claim(d.ctx, belfry.ClaimRequest{Session: "0195f2a4-0000-7000-8000-000000000000", Want: map[string]int{"default": 1}})
		wantCode(d, err, belfry.Unauthorized)
	})

	addBroker("jobs of a claim that never arrived are handed back once it must have, and not before", func(d *desk) {
		d.task("void", attempts(1))
		ids := d.enqueue(belfry.NewJob{Task: "void"}, belfry.NewJob{Task: "void"})
		s := d.session("void")
		held := d.claimOne(s)
		missed := d.claimOne(s)
		d.Move(belfry.ClaimSettled)
		d.renew(s, held)
		d.wantState(missed.JobID, belfry.JobRunning)
		d.Move(time.Second)
		want(d, "nothing to cancel", len(d.renew(s, held).Cancel), 0)
		j := d.wantState(missed.JobID, belfry.JobReady)
		want(d, "failures", j.Failures, 0)
		d.wantState(held.JobID, belfry.JobRunning)
		want(d, "outcomes", d.outcomes(missed.JobID), "handed_back")
		again := d.claimOne(s)
		want(d, "claimed again", again.JobID, missed.JobID)
		want(d, "stale", d.finish(s, missed, belfry.OutcomeOK).Stale, true)
		d.finish(s, again, belfry.OutcomeOK)
		want(d, "jobs", len(ids), 2)
	})

	addBroker("a renewal lists what was asked to end and what ended over the worker's head", func(d *desk) {
		d.task("busy")
		d.enqueue(slices.Repeat([]belfry.NewJob{{Task: "busy"}}, 4)...)
		s := d.session("busy")
		c := d.claim(s, 4)
		refs := make([]belfry.Ref, 4)
		for i, j := range c.Jobs {
			refs[i] = refOf(j)
		}
		want(d, "at first", len(d.renew(s, refs...).Cancel), 0)
		must(d.ad.CancelJobs(d.ctx, "default", belfry.Selection{IDs: []int64{refs[1].JobID}}))(d)
		d.finish(s, refs[2], belfry.OutcomeOK)
		got := d.renew(s, refs...).Cancel
		if !slices.Equal(got, []belfry.Ref{refs[1], refs[2]}) {
			d.Fatalf("to cancel: %+v of %+v", got, refs)
		}
		want(d, "canceled", d.finish(s, refs[1], belfry.OutcomeCanceled).State, belfry.JobCanceled)
		want(d, "the others go on", d.finish(s, refs[0], belfry.OutcomeOK).State, belfry.JobSucceeded)
	})

	addBroker("a job asked to end counts as canceled whatever its worker says, but for a success", func(d *desk) {
		d.task("asked")
		for outcome, state := range map[belfry.Outcome]belfry.JobState{
			belfry.OutcomeOK: belfry.JobSucceeded, belfry.OutcomeError: belfry.JobCanceled, belfry.OutcomeTimeout: belfry.JobCanceled,
			belfry.OutcomeHandedBack: belfry.JobCanceled, belfry.OutcomeCanceled: belfry.JobCanceled,
		} {
			id := d.one("asked")
			s := d.session("asked")
			ref := d.claimOne(s)
			must(d.ad.CancelJobs(d.ctx, "default", belfry.Selection{IDs: []int64{id}, Note: "wrong input"}))(d)
			want(d, string(outcome), d.finish(s, ref, outcome).State, state)
			if j := d.job(id); state == belfry.JobCanceled && (j.Reason != belfry.ReasonCanceled || !strings.Contains(j.Note, "wrong input")) {
				d.Fatalf("%s: %s %q", outcome, j.Reason, j.Note)
			}
		}
		id := d.one("asked")
		d.claimOne(d.session("asked"))
		must(d.ad.CancelJobs(d.ctx, "default", belfry.Selection{IDs: []int64{id}}))(d)
		d.Move(lost)
		d.release()
		d.wantState(id, belfry.JobCanceled)
	})

	addBroker("a job whose deadline passed ends as timed out though its worker lives", func(d *desk) {
		d.task("stuck", attempts(2), func(t *belfry.Task) { t.Timeout = belfry.Duration(10 * time.Second) })
		id := d.one("stuck")
		s := d.session("stuck")
		ref := d.claimOne(s)
		want(d, "deadline", d.job(id).DeadlineAt, Epoch.Add(10*time.Second+belfry.DeadlineGrace))
		for range 3 {
			d.Move(20 * time.Second)
			d.renew(s, ref)
		}
		d.Move(10*time.Second - time.Microsecond)
		want(d, "told before", len(d.renew(s, ref).Cancel), 0)
		d.Move(time.Microsecond)
		if got := d.renew(s, ref).Cancel; !slices.Equal(got, []belfry.Ref{ref}) {
			d.Fatalf("the worker was not told at the deadline: %+v", got)
		}
		d.wantState(id, belfry.JobScheduled)
		want(d, "late finish is stale", d.finish(s, ref, belfry.OutcomeOK).Stale, true)
		want(d, "outcomes", d.outcomes(id), "timeout")
	})

	addBroker("closing a session hands its jobs back without counting, and closing again is harmless", func(d *desk) {
		d.task("brief", attempts(1))
		id := d.one("brief")
		s := d.session("brief")
		ref := d.claimOne(s)
		ok(d, d.br.CloseSession(d.ctx, s))
		ok(d, d.br.CloseSession(d.ctx, s))
		j := d.wantState(id, belfry.JobReady)
		want(d, "failures", j.Failures, 0)
		want(d, "stale", d.finish(s, ref, belfry.OutcomeOK).Stale, true)
		other := d.session("brief")
		want(d, "by another", d.finish(other, d.claimOne(other), belfry.OutcomeError).State, belfry.JobFailed)
		want(d, "outcomes", d.outcomes(id), "handed_back error")
	})

	addBroker("a draining worker is told, claims nothing more, and may finish", func(d *desk) {
		d.task("calm")
		d.enqueue(belfry.NewJob{Task: "calm"}, belfry.NewJob{Task: "calm"})
		s := d.session("calm")
		ref := d.claimOne(s)
		want(d, "before", d.renew(s, ref).Drain, false)
		ok(d, d.ad.DrainWorker(d.ctx, s))
		want(d, "told", d.renew(s, ref).Drain, true)
		want(d, "claimed", len(d.claim(s, 5).Jobs), 0)
		want(d, "finish", d.finish(s, ref, belfry.OutcomeOK).State, belfry.JobSucceeded)
		wantCode(d, d.ad.DrainWorker(d.ctx, "0195f2a4-0000-7000-8000-000000000000"), belfry.NotFound)
	})

	addBroker("snoozing and handing back do not count against the attempts", func(d *desk) {
		d.task("shy", attempts(1))
		id := d.one("shy")
		s := d.session("shy")
		d.finish(s, d.claimOne(s), belfry.OutcomeSnoozed, func(f *belfry.Finish) { f.Snooze = belfry.Duration(5 * time.Second) })
		j := d.wantState(id, belfry.JobScheduled)
		want(d, "due", j.DueAt, Epoch.Add(5*time.Second))
		want(d, "snoozes", j.Snoozes, 1)
		d.promote()
		want(d, "too early", len(d.claim(s, 1).Jobs), 0)
		d.Move(5 * time.Second)
		d.promote()
		d.finish(s, d.claimOne(s), belfry.OutcomeHandedBack)
		want(d, "failures", d.wantState(id, belfry.JobReady).Failures, 0)
		want(d, "end", d.finish(s, d.claimOne(s), belfry.OutcomeError).State, belfry.JobFailed)
		want(d, "outcomes", d.outcomes(id), "snoozed handed_back error")
	})

	addBroker("what a worker says of an attempt is kept", func(d *desk) {
		d.task("exit", attempts(1))
		id := d.one("exit")
		s := d.session("exit")
		ref := d.claimOne(s)
		d.Move(3 * time.Second)
		code := 7
		d.finish(s, ref, belfry.OutcomeError, func(f *belfry.Finish) {
			f.Error, f.ExitCode, f.Signal, f.LogCut = "it \x00broke\xff", &code, "SIG\x00TERM", true
			f.StartedIn, f.Output = belfry.Duration(time.Second), json.RawMessage(`{"half":"\u0000done"}`)
		})
		a := must(d.ad.Attempts(d.ctx, "default", id))(d)[0]
		if a.Error != "it broke\uFFFD" || *a.ExitCode != 7 || a.Signal != "SIGTERM" || !a.LogCut || a.Worker != "tester" || a.Session != s || a.Lease != ref.Lease {
			d.Fatalf("%+v", a)
		}
		if !a.ClaimedAt.Equal(Epoch) || !a.StartedAt.Equal(Epoch.Add(time.Second)) || !a.EndedAt.Equal(Epoch.Add(3*time.Second)) {
			d.Fatalf("%+v", a)
		}
		want(d, "output", string(d.job(id).Output), `{"half":"\u0000done"}`)
	})

	addBroker("bad finishes, logs, claims and sessions are refused with the field, and nothing of their batch is written", func(d *desk) {
		d.task("picky")
		id := d.one("picky")
		s := d.session("picky")
		ref := d.claimOne(s)
		for field, f := range map[string]belfry.Finish{
			"outcome": {Ref: ref, Outcome: "great"},
			"output":  {Ref: ref, Outcome: belfry.OutcomeOK, Output: json.RawMessage(`{"half"`)},
			"snooze":  {Ref: ref, Outcome: belfry.OutcomeSnoozed},
		} {
			if field == "output" && !canSend(f.Output) {
				continue // a client that cannot even encode it has refused it
			}
			_, err := d.br.Finish(d.ctx, s, []belfry.Finish{{Ref: ref, Outcome: belfry.OutcomeOK}, f})
			wantCode(d, err, belfry.Invalid, field)
		}
		big := json.RawMessage(`"` + strings.Repeat("x", belfry.MaxOutput) + `"`)
		_, err := d.br.Finish(d.ctx, s, []belfry.Finish{{Ref: ref, Outcome: belfry.OutcomeOK, Output: big}})
		wantCode(d, err, belfry.Invalid, "output")
		d.wantState(id, belfry.JobRunning)
		good := belfry.LogPiece{Ref: ref, Stream: belfry.Log, At: Epoch, Text: "good"}
		for field, l := range map[string]belfry.LogPiece{
			"seq":    {Ref: ref, Seq: -1, Stream: belfry.Log, At: Epoch},
			"stream": {Ref: ref, Seq: 1, Stream: "stdwhat", At: Epoch},
			"text":   {Ref: ref, Seq: 1, Stream: belfry.Log, At: Epoch, Text: strings.Repeat("x", belfry.MaxLogPiece+1)},
		} {
			wantCode(d, d.br.Append(d.ctx, s, []belfry.LogPiece{good, l}), belfry.Invalid, field)
		}
		want(d, "log", d.texts(id), "")
		_, err = d.br.Claim(d.ctx, belfry.ClaimRequest{Session: s, Want: map[string]int{"default": belfry.MaxBatch + 1}})
		wantCode(d, err, belfry.Invalid, "want.default")
		for field, w := range map[string]belfry.WorkerInfo{
			"kinds":  {Name: "w", Queues: map[string]int{"default": 1}},
			"queues": {Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Queues: map[string]int{"nowhere": 1}},
			"name":   {Name: "a b", Kinds: []belfry.Kind{belfry.KindFunc}, Queues: map[string]int{"default": 1}},
			"funcs":  {Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{""}, Queues: map[string]int{"default": 1}},
		} {
			_, err := d.br.OpenSession(d.ctx, w)
			wantCode(d, err, belfry.Invalid, field)
		}
	})

	addBroker("a session is told its queues by priority and its slots in each", func(d *desk) {
		must(d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "urgent", Priority: 500, Concurrency: 3}))(d)
		s := must(d.br.OpenSession(d.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc},
			Queues: map[string]int{"default": 2, "urgent": 0, "checks": 0}}))(d)
		if !slices.Equal(s.Order, []string{"urgent", "checks", "default"}) || s.Queues["urgent"] != 3 || s.Queues["default"] != 2 || s.Queues["checks"] != 200 {
			d.Fatalf("%+v", s)
		}
		want(d, "ttl", s.TTL, belfry.DefaultSessionTTL)
	})

	addBroker("a session lives as long as its worker asked for, and hears at its renewals of slots that were changed", func(d *desk) {
		d.task("t")
		s := must(d.br.OpenSession(d.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"},
			Queues: map[string]int{"default": 0, "checks": 3}, TTL: belfry.Duration(2 * time.Minute)}))(d)
		want(d, "ttl", s.TTL, belfry.Duration(2*time.Minute))
		id := d.one("t")
		ref := d.claimOne(s.ID)
		must(d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "default", Concurrency: 77}))(d)
		for range 2 {
			d.Move(2*time.Minute + belfry.LostGrace)
			want(d, "released", d.release(), 0)
			r := d.renew(s.ID, ref)
			if r.Lost || r.Queues["default"] != 77 || r.Queues["checks"] != 3 {
				d.Fatalf("%+v", r)
			}
		}
		d.Move(2*time.Minute + belfry.LostGrace + time.Second)
		want(d, "released", d.release(), 1)
		want(d, "outcomes", d.outcomes(id), "lost")
		_, err := d.br.OpenSession(d.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Queues: map[string]int{"default": 1}, TTL: 1})
		wantCode(d, err, belfry.Invalid, "ttl")
	})

	addBroker("a worker gets only jobs of its kinds, its handlers, its queues and its namespace", func(d *desk) {
		must(d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "aside"}))(d)
		d.task("mine")
		d.task("yours")
		d.task("mine-too", func(t *belfry.Task) { t.Namespace = "other"; t.Name = "mine" })
		d.task("shell", func(t *belfry.Task) { t.Kind = belfry.KindCommand; t.Command = &belfry.Command{Shell: "true"} })
		d.task("fetch", func(t *belfry.Task) { t.Kind = belfry.KindHTTP; t.HTTP = &belfry.HTTP{URL: "https://example.org/"} })
		ids := d.enqueue(
			belfry.NewJob{Task: "mine"}, belfry.NewJob{Task: "yours"}, belfry.NewJob{Task: "mine", Namespace: "other"},
			belfry.NewJob{Task: "shell"}, belfry.NewJob{Task: "fetch"}, belfry.NewJob{Task: "mine", Queue: "aside"})
		claimed := func(w belfry.WorkerInfo) (places []int) {
			d.Helper()
			if w.Queues == nil {
				w.Queues = map[string]int{"default": 10}
			}
			s := d.open(w)
			for _, j := range d.claimFrom(s, w.Queues).Jobs {
				places = append(places, slices.Index(ids, j.Job.ID))
			}
			ok(d, d.br.CloseSession(d.ctx, s))
			slices.Sort(places)
			return places
		}
		funcs := []belfry.Kind{belfry.KindFunc}
		for _, c := range []struct {
			w    belfry.WorkerInfo
			want []int
		}{
			{belfry.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine"}}, []int{0}},
			{belfry.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine", "yours"}}, []int{0, 1}},
			{belfry.WorkerInfo{Namespace: "default", Kinds: funcs}, nil},
			{belfry.WorkerInfo{Namespace: "other", Kinds: funcs, Funcs: []string{"mine"}}, []int{2}},
			{belfry.WorkerInfo{Namespace: belfry.AnyNamespace, Kinds: funcs, Funcs: []string{"mine"}}, []int{0, 2}},
			{belfry.WorkerInfo{Namespace: "default", Kinds: []belfry.Kind{belfry.KindCommand}}, []int{3}},
			{belfry.WorkerInfo{Namespace: "default", Kinds: []belfry.Kind{belfry.KindHTTP, belfry.KindCommand}}, []int{3, 4}},
			{belfry.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine"}, Queues: map[string]int{"aside": 5}}, []int{5}},
		} {
			if got := claimed(c.w); !slices.Equal(got, c.want) {
				d.Fatalf("%+v claimed %v, want %v", c.w, got, c.want)
			}
		}
	})

	addBroker("one claim over several queues serves the highest first and gives each what was asked", func(d *desk) {
		must(d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "high", Priority: 9}))(d)
		must(d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "low", Priority: -9}))(d)
		d.task("any")
		for _, q := range []string{"low", "default", "high"} {
			d.enqueue(slices.Repeat([]belfry.NewJob{{Task: "any", Queue: q}}, 3)...)
		}
		s := d.open(belfry.WorkerInfo{Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"any"}, Queues: map[string]int{"low": 9, "default": 9, "high": 9}})
		var got []string
		c := d.claimFrom(s, map[string]int{"low": 1, "default": 2, "high": 5, "checks": 3})
		for _, j := range c.Jobs {
			got = append(got, j.Job.Queue)
		}
		want(d, "order", strings.Join(got, " "), "high high high default default low")
	})

	addBroker("many sessions that claim at once never get the same job", func(d *desk) {
		const jobs, workers = 120, 6
		d.task("rush")
		d.enqueue(slices.Repeat([]belfry.NewJob{{Task: "rush"}}, jobs)...)
		sessions := make([]string, workers)
		for i := range sessions {
			sessions[i] = d.session("rush")
		}
		var mu sync.Mutex
		holders, faults := map[int64]int{}, []error{}
		together(workers, func(i int) {
			for {
				c, err := d.br.Claim(d.ctx, belfry.ClaimRequest{Session: sessions[i], Want: map[string]int{"default": 7}})
				mu.Lock()
				if err != nil {
					faults = append(faults, err)
				}
				for _, j := range c.Jobs {
					holders[j.Job.ID]++
				}
				mu.Unlock()
				if err != nil || len(c.Jobs) == 0 {
					return
				}
			}
		})
		if len(faults) > 0 {
			d.Fatal(faults[0])
		}
		want(d, "jobs handed out", len(holders), jobs)
		for id, n := range holders {
			want(d, fmt.Sprintf("holders of job %d", id), n, 1)
		}
	})

	addBroker("a claim that waits returns when a job comes", func(d *desk) {
		d.task("soon")
		s := d.session("soon")
		got := make(chan belfry.Claim, 1)
		fault := make(chan error, 1)
		go func() {
			c, err := d.br.Claim(d.ctx, belfry.ClaimRequest{Session: s, Want: map[string]int{"default": 1}, Wait: belfry.MaxClaimWait})
			fault <- err
			got <- c
		}()
		id := d.one("soon")
		ok(d, <-fault)
		if c := <-got; len(c.Jobs) != 1 || c.Jobs[0].Job.ID != id {
			d.Fatalf("%+v", c)
		}
	})

	addBroker("a log keeps its order and drops what came twice, in one call or in two", func(d *desk) {
		d.task("chatty", attempts(2))
		id := d.one("chatty")
		s := d.session("chatty")
		ref := d.claimOne(s)
		piece := func(seq int, text string) belfry.LogPiece {
			return belfry.LogPiece{Ref: ref, Seq: seq, Stream: belfry.Stdout, At: Epoch.Add(time.Duration(seq) * time.Millisecond), Text: text}
		}
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{piece(2, "c"), piece(0, "a"), piece(0, "a")}))
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{piece(0, "again"), piece(1, "b"), piece(3, "d")}))
		ok(d, d.br.Append(d.ctx, s, nil))
		want(d, "log", d.texts(id), "a|b|c|d")
		d.finish(s, ref, belfry.OutcomeError)
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{piece(4, "after the end")}))
		d.Move(20 * time.Second)
		d.promote()
		before := ref
		ref = d.claimOne(s)
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{piece(0, "second try")}))
		want(d, "log", d.texts(id), "a|b|c|d|second try")
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{{Ref: before, Seq: 9, Stream: belfry.Stdout, At: Epoch, Text: "under the lease before"}}))
		other := d.session("chatty")
		ok(d, d.br.Append(d.ctx, other, []belfry.LogPiece{piece(1, "not yours")}))
		want(d, "log", d.texts(id), "a|b|c|d|second try")
		lines := must(d.ad.Logs(d.ctx, "default", id, belfry.LogFilter{Attempt: 2}))(d).Items
		if len(lines) != 1 || lines[0].Attempt != 2 || lines[0].Stream != belfry.Stdout {
			d.Fatalf("%+v", lines)
		}
	})

	addBroker("a log takes any bytes and mends the time of a worker whose clock is off", func(d *desk) {
		d.task("dirty")
		id := d.one("dirty")
		s := d.session("dirty")
		ref := d.claimOne(s)
		ok(d, d.br.Append(d.ctx, s, []belfry.LogPiece{
			{Ref: ref, Seq: 0, Stream: belfry.Stderr, At: Epoch, Text: "bad \xff byte"},
			{Ref: ref, Seq: 1, Stream: belfry.Stderr, At: Epoch, Text: "nul\x00\x00"},
			{Ref: ref, Seq: 2, Stream: belfry.Stderr, At: time.Unix(0, 0), Text: "1970"},
			{Ref: ref, Seq: 3, Stream: belfry.Stderr, At: Epoch.Add(24 * time.Hour), Text: "tomorrow"},
			{Ref: ref, Seq: 4, Stream: belfry.Stderr, At: Epoch, Text: "snow \u2603 \U0001F514"},
		}))
		want(d, "log", d.texts(id), "bad \uFFFD byte|nul|1970|tomorrow|snow \u2603 \U0001F514")
		for _, l := range must(d.ad.Logs(d.ctx, "default", id, belfry.LogFilter{}))(d).Items {
			want(d, "time of "+l.Text, l.At, Epoch)
		}
	})
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

func init() {
	brokerCases["a worker chooses its lease time, and learns at a renewal how many slots its queues have now"] = func(d *desk) {
		s, err := d.br.OpenSession(d.ctx, belfry.WorkerInfo{
			Name: "chooser", Kinds: []belfry.Kind{belfry.KindFunc}, Queues: map[string]int{"default": 0, "checks": 7, "gone": 0}, TTL: belfry.Duration(5 * time.Minute),
		})
		if err != nil {
			d.Fatal(err)
		}
		if s.TTL != belfry.Duration(5*time.Minute) || s.Queues["default"] != 10 || s.Queues["checks"] != 7 || len(s.Queues) != 2 {
			d.Fatalf("session %+v", s)
		}
		if _, err := d.ad.SaveQueue(d.ctx, belfry.Queue{Name: "default", Concurrency: 25}); err != nil {
			d.Fatal(err)
		}
		d.ad.Move(4 * time.Minute) // eight times the usual lease
		if r, err := d.ad.ReleaseLost(d.ctx); err != nil || r.Sessions != 0 {
			d.Fatalf("released %+v, %v", r, err)
		}
		r, err := d.br.Renew(d.ctx, s.ID, nil)
		if err != nil || r.Lost || r.Queues["default"] != 25 || r.Queues["checks"] != 7 {
			d.Fatalf("renewed %+v, %v", r, err)
		}
		d.ad.Move(5*time.Minute + 6*time.Second)
		if r, err := d.ad.ReleaseLost(d.ctx); err != nil || r.Sessions != 1 {
			d.Fatalf("released %+v, %v", r, err)
		}
	}
}
