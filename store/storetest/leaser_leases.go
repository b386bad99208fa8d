package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addLeaser("a renewal says which queues its session serves by now", caseARenewalSaysWhichQueues)
	addLeaser("the lease numbers of a job only grow, through retry, snooze, handing back, loss, deadline and retry by hand", caseTheLeaseNumbersOfAJobOnlyGrow)
	addLeaser("a finish under an older lease is refused and writes nothing", caseAFinishUnderAnOlderLeaseIsRefusedAnd)
	addLeaser("a finish under a lease before this one is refused, of the same session too", caseAFinishUnderALeaseBeforeThisOneIsRefused)
	addLeaser("a finish that comes twice with another outcome is answered stale the second time, and the first stands", caseAFinishThatComesTwiceIsAnsweredStaleThe)
	addLeaser("a finish that is repeated is answered with what is recorded, and writes nothing", caseAFinishThatIsRepeatedIsAnsweredWithWhatIs)
	addLeaser("the same attempt twice in one batch counts once", caseTheSameAttemptTwiceInOneBatchCountsOnce)
	addLeaser("answers stand in the order of the question, stale ones among good ones", caseAnswersStandInTheOrderOfTheQuestion)
	addLeaser("a finish after the session's end but before it is given up is accepted, once", caseAFinishAfterTheSessionsEndButBeforeIt)
	addLeaser("a finish after the session was given up is refused, also before another claim of the job", caseAFinishAfterTheSessionWasGivenUpIs)
	addLeaser("a session that is late but not given up renews and goes on", caseASessionThatIsLateButNotGivenUp)
	addLeaser("each call of an ended session is answered with its end", caseASessionThatEndedIsToldSo)
	addLeaser("an attempt is settled by the session that holds it alone", caseAnAttemptIsSettledByTheSessionThatHolds)
	addLeaser("a renewal that is carried out late hands back nothing that was claimed since it was sent", caseALateRenewalKeepsWhatWasClaimedSinceItWasSent)
	addLeaser("jobs of a claim that never arrived are handed back once it must have, and not before", caseJobsOfAClaimThatNeverArrivedAreHanded)
	addLeaser("a renewal lists what was asked to end and what ended over the worker's head", caseARenewalListsWhatWasAskedToEndAnd)
	addLeaser("a job asked to end counts as canceled for each report of its worker except a success", caseAJobAskedToEndCountsAsCanceledWhatever)
	addLeaser("a job whose deadline passed ends as timed out though its worker lives", caseAJobWhoseDeadlinePassedEndsAsTimedOut)
	addLeaser("closing a session hands its jobs back without counting, and closing again is harmless", caseClosingASessionHandsItsJobsBackWithoutCounting)
	addLeaser("a draining worker is told, claims nothing more, and may finish", caseADrainingWorkerIsTold)
}

func caseTheLeaseNumbersOfAJobOnlyGrow(d *leaserBench) {
	d.task("worn", attempts(100), func(t *task.Task) { t.Timeout = core.Duration(time.Second) })
	id, last := d.one("worn"), int64(0)
	s := d.session("worn")
	claim := func() job.Ref {
		d.Helper()
		d.promote()
		ref := d.claimOne(s)
		if ref.JobID != id || ref.Lease <= last {
			d.Fatalf("lease: got %+v, want a larger number than %d", ref, last)
		}
		last = ref.Lease
		return ref
	}
	d.finish(s, claim(), job.OutcomeError)
	d.Move(time.Minute)
	d.renew(s)
	d.finish(s, claim(), job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Second) })
	d.Move(time.Second)
	d.finish(s, claim(), job.OutcomeHandedBack)
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
	want(d, "ended at its deadline", d.job(id).State, job.Scheduled)
	d.Move(40 * time.Second)
	d.renew(s)
	d.promote()
	d.finish(s, claim(), job.OutcomeError, func(f *job.Finish) { f.NoRetry = true })
	d.wantState(id, job.Failed)
	must(d.ad.RetryJobs(d.ctx, "default", view.Selection{IDs: []int64{id}}))(d)
	d.finish(s, claim(), job.OutcomeOK)
	want(d, "outcomes", d.outcomes(id), "error snoozed handed_back handed_back lost timeout error ok")
}

func caseAFinishUnderAnOlderLeaseIsRefusedAnd(d *leaserBench) {
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
	for _, o := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeCanceled, job.OutcomeHandedBack} {
		if f := d.finish(zombie, old, o, func(f *job.Finish) { f.Output = json.RawMessage(`"late"`) }); !f.Stale || f.State != "" {
			d.Fatalf("finish %s under an older lease: got %+v, want stale", o, f)
		}
	}
	f := d.finish(zombie, old, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Hour) })
	want(d, "snooze is stale", f.Stale, true)
	after := d.job(id)
	want(d, "job before and after", jsonOf(after), jsonOf(before))
	want(d, "outcomes", d.outcomes(id), "lost")
	want(d, "state after the second worker's finish", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
}

// The session is the same, so only the lease number distinguishes the attempts.
func caseAFinishUnderALeaseBeforeThisOneIsRefused(d *leaserBench) {
	d.task("again", attempts(9))
	id := d.one("again")
	s := d.session("again")
	old := d.claimOne(s)
	d.finish(s, old, job.OutcomeHandedBack)
	ref := d.claimOne(s)
	before := d.job(id)
	for _, o := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeCanceled, job.OutcomeHandedBack, job.OutcomeSnoozed} {
		f := d.finish(s, old, o, func(f *job.Finish) {
			if o == job.OutcomeSnoozed {
				f.Snooze = core.Duration(time.Hour)
			}
		})
		want(d, string(o)+" is stale", f.Stale, true)
	}
	want(d, "job before and after", jsonOf(d.job(id)), jsonOf(before))
	want(d, "the finish under the lease that holds", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
}

func caseAFinishThatComesTwiceIsAnsweredStaleThe(d *leaserBench) {
	d.task("twice")
	id := d.one("twice")
	s := d.session("twice")
	ref := d.claimOne(s)
	want(d, "first", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
	want(d, "second is stale", d.finish(s, ref, job.OutcomeError).Stale, true)
	d.wantState(id, job.Succeeded)
	want(d, "outcomes", d.outcomes(id), "ok")
}

func caseAFinishThatIsRepeatedIsAnsweredWithWhatIs(d *leaserBench) {
	d.task("repeated", attempts(3))
	id := d.one("repeated")
	s, other := d.session("repeated"), d.session("repeated")
	for _, o := range []job.Outcome{job.OutcomeError, job.OutcomeSnoozed, job.OutcomeOK} {
		ref := d.claimOne(s)
		change := func(f *job.Finish) {
			if f.Outcome == job.OutcomeSnoozed {
				f.Snooze = core.Duration(time.Second)
			}
		}
		first := d.finish(s, ref, o, change)
		want(d, string(o), first.Stale, false)
		before := jsonOf(d.job(id))
		known := job.Finished{Ref: ref}
		if first.State.Final() {
			known.State = first.State
		}
		for range 2 {
			want(d, string(o)+" again", d.finish(s, ref, o, change), known)
		}
		want(d, "by another session", d.finish(other, ref, o, change).Stale, true)
		want(d, "with another outcome", d.finish(s, ref, job.OutcomeHandedBack).Stale, true)
		late := job.Ref{JobID: id, Lease: ref.Lease - 1}
		want(d, "finish under another lease is stale", d.finish(s, late, o, change).Stale, true)
		want(d, "job before and after", jsonOf(d.job(id)), before)
		d.Move(time.Minute)
		d.renew(s)
		d.renew(other)
		d.promote()
	}
	want(d, "outcomes", d.outcomes(id), "error snoozed ok")
}

func caseTheSameAttemptTwiceInOneBatchCountsOnce(d *leaserBench) {
	d.task("twice", attempts(1))
	id := d.one("twice")
	s := d.session("twice")
	ref := d.claimOne(s)
	fs := must(d.br.Finish(d.ctx, s, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}, {Ref: ref, Outcome: job.OutcomeError}}))(d)
	if fs[0].Stale || !fs[1].Stale {
		d.Fatalf("answers to the same attempt twice: got %+v, want the second stale", fs)
	}
	d.wantState(id, job.Succeeded)
	want(d, "outcomes", d.outcomes(id), "ok")
}

func caseAnswersStandInTheOrderOfTheQuestion(d *leaserBench) {
	d.task("many")
	d.enqueue(slices.Repeat([]job.NewJob{{Task: "many"}}, 6)...)
	s := d.session("many")
	c := d.claim(s, 10)
	want(d, "claimed", len(c.Jobs), 6)
	var fs []job.Finish
	for i, j := range c.Jobs {
		f := job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
		if i%2 == 1 {
			f.Lease--
		}
		fs = append(fs, f)
	}
	slices.Reverse(fs)
	fs = append(fs, job.Finish{Ref: job.Ref{JobID: 1 << 40, Lease: 1 << 40}, Outcome: job.OutcomeOK})
	for i, got := range must(d.br.Finish(d.ctx, s, fs))(d) {
		want(d, "place", got.Ref, fs[i].Ref)
		want(d, fmt.Sprintf("answer %d is stale", i), got.Stale, fs[i].Lease != c.Lease)
	}
}

func caseAFinishAfterTheSessionsEndButBeforeIt(d *leaserBench) {
	d.task("late")
	id := d.one("late")
	s := d.session("late")
	ref := d.claimOne(s)
	d.Move(lost)
	want(d, "finish", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
	want(d, "repeated finish", d.finish(s, ref, job.OutcomeOK), job.Finished{Ref: ref, State: job.Succeeded})
	want(d, "otherwise is stale", d.finish(s, ref, job.OutcomeError).Stale, true)
	want(d, "released", d.release(), 0)
	want(d, "outcomes", d.outcomes(id), "ok")
}

func caseAFinishAfterTheSessionWasGivenUpIs(d *leaserBench) {
	d.task("late")
	id := d.one("late")
	s := d.session("late")
	ref := d.claimOne(s)
	d.Move(lost)
	want(d, "released", d.release(), 1)
	want(d, "finish is stale", d.finish(s, ref, job.OutcomeOK).Stale, true)
	d.wantState(id, job.Scheduled)
	want(d, "outcomes", d.outcomes(id), "lost")
}

func caseASessionThatIsLateButNotGivenUp(d *leaserBench) {
	d.task("late")
	d.one("late")
	s := d.session("late")
	ref := d.claimOne(s)
	d.Move(lost)
	want(d, "lost", d.renew(s, ref).Lost, false)
	want(d, "released", d.release(), 0)
	want(d, "finish", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
}

func caseASessionThatEndedIsToldSo(d *leaserBench) {
	d.task("gone")
	id := d.one("gone")
	s := d.session("gone")
	ref := d.claimOne(s)
	d.Move(lost)
	d.release()
	want(d, "renewal says lost", d.renew(s, ref).Lost, true)
	_, err := d.br.Claim(d.ctx, job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}})
	wantCode(d, err, core.Unauthorized)
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{{Ref: ref, Stream: job.Log, At: Epoch, Text: "too late"}}))
	want(d, "log", d.texts(id), "")
	ok(d, d.br.CloseSession(d.ctx, s))
	want(d, "an unknown one is lost", d.renew("0195f2a4-0000-7000-8000-000000000000").Lost, true)
	_, err = d.br.Claim(d.ctx, job.ClaimRequest{Session: "0195f2a4-0000-7000-8000-000000000000", Want: map[string]int{"default": 1}})
	wantCode(d, err, core.Unauthorized)
}

func caseAnAttemptIsSettledByTheSessionThatHolds(d *leaserBench) {
	d.task("held", attempts(5))
	for _, n := range []int{1, 100} { // a claim of many jobs may be stored in another form
		d.enqueue(slices.Repeat([]job.NewJob{{Task: "held"}}, n)...)
		own, other := d.session("held"), d.session("held")
		c := d.claim(own, n)
		want(d, "jobs claimed", len(c.Jobs), n)
		for _, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeSnoozed, job.OutcomeHandedBack, job.OutcomeCanceled} {
			fs := make([]job.Finish, n)
			for i, j := range c.Jobs {
				fs[i] = job.Finish{Ref: refOf(j), Outcome: outcome, Output: json.RawMessage(`"forged"`)}
				if outcome == job.OutcomeSnoozed {
					fs[i].Snooze = core.Duration(time.Second)
				}
			}
			for _, f := range must(d.br.Finish(d.ctx, other, fs))(d) {
				want(d, fmt.Sprintf("%s by another of %d is stale", outcome, n), f.Stale, true)
			}
		}
		for i, j := range c.Jobs {
			if ref := refOf(j); i == 0 {
				want(d, "state after a finish by the own session", d.finish(own, ref, job.OutcomeOK).State, job.Succeeded)
				want(d, "output", string(d.job(ref.JobID).Output), "")
			} else {
				want(d, "attempts", d.wantState(ref.JobID, job.Running).Failures, 0)
			}
		}
		ok(d, d.br.CloseSession(d.ctx, own))
		ok(d, d.br.CloseSession(d.ctx, other))
	}
}

func caseJobsOfAClaimThatNeverArrivedAreHanded(d *leaserBench) {
	d.task("void", attempts(1))
	ids := d.enqueue(job.NewJob{Task: "void"}, job.NewJob{Task: "void"})
	s := d.session("void")
	held := d.claimOne(s)
	missed := d.claimOne(s)
	d.Move(job.ClaimSettled)
	d.renew(s, held)
	d.wantState(missed.JobID, job.Running)
	d.Move(time.Second)
	d.renew(s, held) // it returns which leases have settled, and does not rely on them yet
	d.wantState(missed.JobID, job.Running)
	want(d, "attempts to cancel", len(d.renew(s, held).Cancel), 0)
	j := d.wantState(missed.JobID, job.Ready)
	want(d, "failures", j.Failures, 0)
	d.wantState(held.JobID, job.Running)
	want(d, "outcomes", d.outcomes(missed.JobID), "handed_back")
	again := d.claimOne(s)
	want(d, "claimed again", again.JobID, missed.JobID)
	want(d, "stale", d.finish(s, missed, job.OutcomeOK).Stale, true)
	d.finish(s, again, job.OutcomeOK)
	want(d, "jobs", len(ids), 2)
}

func caseALateRenewalKeepsWhatWasClaimedSinceItWasSent(d *leaserBench) {
	d.task("late")
	d.enqueue(slices.Repeat([]job.NewJob{{Task: "late"}}, 3)...)
	s := d.session("late")
	lost := d.claimOne(s)
	d.Move(job.ClaimSettled + time.Second)
	sent := job.Holdings{Settled: d.renew(s).Settled}
	runs := d.claimOne(s)
	for range 3 { // a long delay, in which the session is renewed
		d.Move(job.ClaimSettled)
		d.renew(s, runs)
	}
	d.wantState(lost.JobID, job.Ready)
	want(d, "to cancel", len(must(d.br.Renew(d.ctx, s, sent))(d).Cancel), 0)
	must(d.br.Renew(d.ctx, s, job.Held()))(d) // a renewal without the settled lease
	d.wantState(runs.JobID, job.Running)
	want(d, "stale", d.finish(s, runs, job.OutcomeOK).Stale, false)
	want(d, "attempts", d.outcomes(runs.JobID), "ok")
}

func caseARenewalListsWhatWasAskedToEndAnd(d *leaserBench) {
	d.task("busy")
	d.enqueue(slices.Repeat([]job.NewJob{{Task: "busy"}}, 4)...)
	s := d.session("busy")
	c := d.claim(s, 4)
	refs := make([]job.Ref, 4)
	for i, j := range c.Jobs {
		refs[i] = refOf(j)
	}
	want(d, "at first", len(d.renew(s, refs...).Cancel), 0)
	must(d.ad.CancelJobs(d.ctx, "default", view.Selection{IDs: []int64{refs[1].JobID}}))(d)
	d.finish(s, refs[2], job.OutcomeOK)
	got := d.renew(s, refs...).Cancel
	if !slices.Equal(got, []job.Ref{refs[1], refs[2]}) {
		d.Fatalf("attempts to cancel: got %+v, want the second and third of %+v", got, refs)
	}
	want(d, "canceled", d.finish(s, refs[1], job.OutcomeCanceled).State, job.Canceled)
	want(d, "state of another job of the claim", d.finish(s, refs[0], job.OutcomeOK).State, job.Succeeded)
}

func caseAJobAskedToEndCountsAsCanceledWhatever(d *leaserBench) {
	d.task("asked")
	for outcome, state := range map[job.Outcome]job.State{
		job.OutcomeOK: job.Succeeded, job.OutcomeError: job.Canceled, job.OutcomeTimeout: job.Canceled,
		job.OutcomeHandedBack: job.Canceled, job.OutcomeCanceled: job.Canceled,
	} {
		id := d.one("asked")
		s := d.session("asked")
		ref := d.claimOne(s)
		must(d.ad.CancelJobs(d.ctx, "default", view.Selection{IDs: []int64{id}, Note: "wrong input"}))(d)
		want(d, string(outcome), d.finish(s, ref, outcome).State, state)
		if j := d.job(id); state == job.Canceled && (j.Reason != schedule.ReasonCanceled || !strings.Contains(j.Note, "wrong input")) {
			d.Fatalf("finish %s after a cancel: got reason %s and note %q, want canceled and the note of the cancel", outcome, j.Reason, j.Note)
		}
	}
	id := d.one("asked")
	d.claimOne(d.session("asked"))
	must(d.ad.CancelJobs(d.ctx, "default", view.Selection{IDs: []int64{id}}))(d)
	d.Move(lost)
	d.release()
	d.wantState(id, job.Canceled)
}

func caseAJobWhoseDeadlinePassedEndsAsTimedOut(d *leaserBench) {
	d.task("stuck", attempts(2), func(t *task.Task) { t.Timeout = core.Duration(10 * time.Second) })
	id := d.one("stuck")
	s := d.session("stuck")
	ref := d.claimOne(s)
	want(d, "deadline", d.job(id).DeadlineAt, Epoch.Add(10*time.Second+job.DeadlineGrace))
	for range 3 {
		d.Move(20 * time.Second)
		d.renew(s, ref)
	}
	d.Move(10*time.Second - time.Microsecond)
	want(d, "attempts to cancel before the deadline", len(d.renew(s, ref).Cancel), 0)
	d.Move(time.Microsecond)
	if got := d.renew(s, ref).Cancel; !slices.Equal(got, []job.Ref{ref}) {
		d.Fatalf("attempts to cancel at the deadline: got %+v, want the attempt", got)
	}
	d.wantState(id, job.Scheduled)
	want(d, "late finish is stale", d.finish(s, ref, job.OutcomeOK).Stale, true)
	want(d, "outcomes", d.outcomes(id), "timeout")
}

func caseClosingASessionHandsItsJobsBackWithoutCounting(d *leaserBench) {
	d.task("brief", attempts(1))
	id := d.one("brief")
	s := d.session("brief")
	ref := d.claimOne(s)
	ok(d, d.br.CloseSession(d.ctx, s))
	ok(d, d.br.CloseSession(d.ctx, s))
	j := d.wantState(id, job.Ready)
	want(d, "failures", j.Failures, 0)
	want(d, "stale", d.finish(s, ref, job.OutcomeOK).Stale, true)
	other := d.session("brief")
	want(d, "by another", d.finish(other, d.claimOne(other), job.OutcomeError).State, job.Failed)
	want(d, "outcomes", d.outcomes(id), "handed_back error")
}

func caseADrainingWorkerIsTold(d *leaserBench) {
	d.task("calm")
	d.enqueue(job.NewJob{Task: "calm"}, job.NewJob{Task: "calm"})
	s := d.session("calm")
	ref := d.claimOne(s)
	want(d, "drain before the request", d.renew(s, ref).Drain, false)
	ok(d, d.ad.DrainWorker(d.ctx, s))
	want(d, "drain after the request", d.renew(s, ref).Drain, true)
	want(d, "claimed", len(d.claim(s, 5).Jobs), 0)
	want(d, "finish", d.finish(s, ref, job.OutcomeOK).State, job.Succeeded)
	wantCode(d, d.ad.DrainWorker(d.ctx, "0195f2a4-0000-7000-8000-000000000000"), core.NotFound)
}

func caseARenewalSaysWhichQueues(d *leaserBench) {
	d.task("moved")
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "late", Concurrency: 3}))(d)
	s := d.session("moved")
	first := d.one("moved")
	has := job.Held(d.claimOne(s))
	late := d.enqueue(job.NewJob{Task: "moved", Queue: "late"})[0]
	want(d, "slots at first", fmt.Sprint(d.renewOf(s, has).Queues), "map[default:10]")
	has.Queues = map[string]int{"late": 0, "none": 1}
	want(d, "slots afterwards", fmt.Sprint(d.renewOf(s, has).Queues), "map[late:3]")
	has.Queues = nil
	want(d, "slots when nothing is said", fmt.Sprint(d.renewOf(s, has).Queues), "map[late:3]")
	d.finish(s, refOf(d.claimFrom(s, map[string]int{"late": 1}).Jobs[0]), job.OutcomeOK)
	d.wantState(late, job.Succeeded)
	d.wantState(first, job.Running)
	has.Queues = map[string]int{"late": -1}
	if _, err := d.br.Renew(d.ctx, s, has); core.CodeOf(err) != core.Invalid {
		d.Errorf("renewal with a negative number of slots: got %v, want an invalid field", err)
	}
}
