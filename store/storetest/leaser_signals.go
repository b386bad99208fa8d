package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addLeaser("a signal ends the wait of its step, and the job that was put off for it is due at once", caseASignalEndsItsWait)
	addLeaser("a signal before its wait is kept, and of two the first counts", caseASignalBeforeItsWait)
	addLeaser("a signal between the wait and the end of its attempt is not slept over", caseASignalBeforeTheSleep)
	addLeaser("a wait ends at its time without a signal, and what comes then is refused", caseAWaitEndsAtItsTime)
	addLeaser("a signal does not hasten what a job is put off for otherwise", caseASignalHastensNothingElse)
	addLeaser("a signal that no job can take is refused", caseASignalThatNoJobCanTake)
	addLeaser("a retry by hand keeps what a wait brought, and a reset waits anew", caseAResetWaitsAnew)
	addLeaser("a wait is asked about by the attempt that holds its job, and no other", caseAWaitIsAskedAbout)
	add("a waiting job says which signal it waits for", caseAWaitingJobSaysWhy)
	add("signals that come while attempts end to wait for them wake each job, and are taken once", caseSignalsBesideWaits)
	add("a job has a bounded number of signals, and they go with it", caseSignalsAreBounded)
}

// waits records a step that waits for a signal for an hour.
func (d *leaserBench) waits(session string, ref job.Ref, number int, name string) job.Step {
	d.Helper()
	got := d.save(session, ref, job.NewStep{Number: number, Name: name, Kind: job.StepSignal, Type: "int", Sleep: core.Duration(time.Hour)})
	want(d, "stale", got.Stale, false)
	return got.Step
}

func (d *leaserBench) putOff(session string, ref job.Ref, by time.Duration) {
	d.Helper()
	d.finish(session, ref, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(by) })
}

func (d *leaserBench) signal(id int64, name, input string) job.SentSignal {
	d.Helper()
	return must(d.ad.SignalJob(d.ctx, "default", id, job.Signal{Name: name, Input: json.RawMessage(input)}))(d)
}

// over describes the state of a wait.
func over(s job.Step) string {
	switch {
	case s.EndedAt.IsZero():
		return "waits"
	case s.TimedOut:
		return "timed out" + string(s.Result)
	}
	return "brought " + string(s.Result)
}

func caseASignalEndsItsWait(d *leaserBench) {
	d.task("t", attempts(1))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	step := d.waits(s, ref, 1, "paid")
	want(d, "at first", over(step), "waits")
	want(d, "end of the wait", step.WakeAt, Epoch.Add(time.Hour))
	d.putOff(s, ref, time.Hour)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(time.Hour))
	d.Move(time.Minute)
	sent := d.signal(id, "paid", `{"amount":5}`)
	want(d, "sent", fmt.Sprint(sent.Existing, sent.Taken, sent.At.UTC()), fmt.Sprint(false, true, Epoch.Add(time.Minute)))
	j := d.wantState(id, job.Scheduled)
	want(d, "due, failures", fmt.Sprint(j.DueAt.UTC(), j.Failures), fmt.Sprint(Epoch.Add(time.Minute), 0))
	d.promote()
	ref = d.claimOne(s)
	list := must(d.keeper().Steps(d.ctx, s, ref))(d)
	want(d, "recorded", over(list.Steps[0]), `brought {"amount":5}`)
	want(d, "asked once more", over(d.waits(s, ref, 1, "paid")), `brought {"amount":5}`)
	d.saved(s, ref, 2, "ship", `1`)
	d.finish(s, ref, job.OutcomeOK)
	d.wantState(id, job.Succeeded)
	again := d.signal(id, "paid", `7`)
	want(d, "to a job that has taken it and ended", fmt.Sprint(again.Existing, again.Taken, again.At.Equal(sent.At)), "true true true")
}

func caseASignalBeforeItsWait(d *leaserBench) {
	d.task("t")
	id := d.one("t")
	first := d.signal(id, "go", ``)
	want(d, "first", fmt.Sprint(first.Existing, first.Taken), "false false")
	d.Move(time.Second)
	second := d.signal(id, "go", `2`)
	want(d, "second", fmt.Sprint(second.Existing, second.Taken, second.At.Equal(first.At)), "true false true")
	s := d.session("t")
	ref := d.claimOne(s)
	d.saved(s, ref, 1, "a", `1`)
	want(d, "at once", over(d.waits(s, ref, 2, "go")), "brought null")
	want(d, "wait for another name", over(d.waits(s, ref, 3, "other")), "waits")
	third := d.signal(id, "go", `3`)
	want(d, "third", fmt.Sprint(third.Existing, third.Taken), "true true")
	want(d, "steps as the API shows them", stepsText(must(d.ad.JobSteps(d.ctx, "default", id))(d)), "1 step a=1, 2 signal go=null, 3 signal other=")
	d.signal(id, "other", `4`)
	nothing := job.NewStep{Number: 4, Name: "no time", Kind: job.StepSignal}
	want(d, "wait with a timeout of zero", over(d.save(s, ref, nothing).Step), "timed out")
}

func caseASignalBeforeTheSleep(d *leaserBench) {
	d.task("t")
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	d.waits(s, ref, 1, "go")
	want(d, "taken", d.signal(id, "go", `1`).Taken, true)
	d.Move(time.Second)
	d.putOff(s, ref, time.Hour)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(time.Second))
	d.promote()
	ref = d.claimOne(s)
	want(d, "recorded", d.steps(s, ref), "1 signal go=1")
	d.putOff(s, ref, time.Hour)
	want(d, "due when it is put off for another reason", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(time.Hour+time.Second))
	// An attempt that asked again, and knows, is snoozed as long as it says.
	d.Move(time.Hour)
	d.promote()
	ref = d.claimOne(s)
	d.waits(s, ref, 2, "next")
	d.signal(id, "next", `2`)
	want(d, "asked again", over(d.waits(s, ref, 2, "next")), "brought 2")
	d.putOff(s, ref, time.Hour)
	want(d, "due when it knew", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(2*time.Hour+time.Second))
}

func caseAWaitEndsAtItsTime(d *leaserBench) {
	d.task("t", attempts(1))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	d.waits(s, ref, 1, "go")
	d.putOff(s, ref, time.Hour)
	d.Move(time.Hour - time.Microsecond)
	late := func(when string) {
		d.Helper()
		d.Log(when)
		_, err := d.ad.SignalJob(d.ctx, "default", id, job.Signal{Name: "go"})
		wantCode(d, err, core.Conflict, `waited for signal "go" until`)
	}
	d.Move(time.Microsecond)
	late("at its time, before the job has looked")
	d.promote()
	s = d.session("t")
	ref = d.claimOne(s)
	want(d, "by the record", over(must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[0]), "waits")
	want(d, "asked", over(d.waits(s, ref, 1, "go")), "timed out")
	late("after the job has looked")
	want(d, "asked once more", over(d.waits(s, ref, 1, "go")), "timed out")
	d.saved(s, ref, 2, "give up", `1`)
	d.finish(s, ref, job.OutcomeError)
	must(d.ad.RetryJobs(d.ctx, core.AnyNamespace, view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimOne(s)
	want(d, "after a retry by hand", over(must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[0]), "timed out")
	late("after a retry by hand")
}

func caseASignalHastensNothingElse(d *leaserBench) {
	d.task("t", attempts(3), func(t *task.Task) {
		t.Retry.Backoff, t.Retry.Delay = task.BackoffFixed, core.Duration(10*time.Minute)
	})
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	d.waits(s, ref, 1, "go")
	d.finish(s, ref, job.OutcomeError)
	want(d, "taken", d.signal(id, "go", `1`).Taken, true)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(10*time.Minute))
	later := d.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)})[0]
	want(d, "kept", d.signal(later, "go", `1`).Taken, false)
	want(d, "due", d.wantState(later, job.Scheduled).DueAt, Epoch.Add(time.Hour))
	// A worker that dies between the signal and the end of its attempt leaves no wait behind.
	d.Move(10 * time.Minute)
	d.promote()
	s = d.session("t")
	ref = d.claimOne(s)
	want(d, "recorded", d.steps(s, ref), "1 signal go=1")
	d.waits(s, ref, 2, "next")
	want(d, "taken", d.signal(id, "next", `2`).Taken, true)
	d.Move(lost)
	d.release()
	d.Move(10 * time.Minute)
	d.promote()
	s = d.session("t")
	ref = d.claimOne(s)
	want(d, "after a loss", d.steps(s, ref), "1 signal go=1, 2 signal next=2")
}

func caseASignalThatNoJobCanTake(d *leaserBench) {
	d.task("t", attempts(1))
	d.task("site", func(t *task.Task) { t.Kind, t.HTTP = task.KindHTTP, &task.HTTP{URL: "http://example.com"} })
	id := d.one("t")
	refused := func(code core.Code, say, namespace string, id int64, sig job.Signal) {
		d.Helper()
		_, err := d.ad.SignalJob(d.ctx, namespace, id, sig)
		wantCode(d, err, code, say)
	}
	refused(core.NotFound, "no job", "default", 1<<40, job.Signal{Name: "a"})
	refused(core.NotFound, "no job", "other", id, job.Signal{Name: "a"})
	refused(core.Conflict, "waits for no signal", "default", d.one("site"), job.Signal{Name: "a"})
	refused(core.Invalid, "name", "default", id, job.Signal{})
	refused(core.Invalid, "name", "default", id, job.Signal{Name: strings.Repeat("x", job.MaxStepName+1)})
	refused(core.Invalid, "over the limit", "default", id, job.Signal{Name: "a", Input: json.RawMessage(`"` + strings.Repeat("x", job.MaxSignal) + `"`)})
	s := d.session("t")
	ref := d.claimOne(s)
	d.saved(s, ref, 1, "charge", `1`)
	refused(core.Conflict, "is of the kind step, and waits for no signal", "default", id, job.Signal{Name: "charge"})
	d.waits(s, ref, 2, "go")
	d.finish(s, ref, job.OutcomeError)
	refused(core.Conflict, "has ended: it failed", "default", id, job.Signal{Name: "go"})
	refused(core.Conflict, "has ended: it failed", "default", id, job.Signal{Name: "other"})
}

func caseAResetWaitsAnew(d *leaserBench) {
	d.task("t", attempts(1))
	id := d.one("t")
	d.signal(id, "later", `9`)
	s := d.session("t")
	ref := d.claimOne(s)
	d.waits(s, ref, 1, "go")
	d.signal(id, "go", `1`)
	d.finish(s, ref, job.OutcomeError)
	must(d.ad.RetryJobs(d.ctx, core.AnyNamespace, view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimOne(s)
	want(d, "after a retry by hand", d.steps(s, ref), "1 signal go=1")
	d.putOff(s, ref, time.Minute)
	want(d, "forgotten", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "go"}))(d), 1)
	d.Move(time.Minute)
	d.promote()
	ref = d.claimOne(s)
	want(d, "after a reset", over(d.waits(s, ref, 1, "go")), "waits")
	d.putOff(s, ref, time.Hour)
	want(d, "forgotten while it waits", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "go"}))(d), 1)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(time.Minute))
	d.promote()
	ref = d.claimOne(s)
	want(d, "a signal that no step had taken", over(d.waits(s, ref, 1, "later")), "brought 9")
	again := must(d.ad.RunJobAgain(d.ctx, "default", d.endedWith(s, ref, id), job.RunAgain{}))(d).Job.ID
	ref = d.claimOne(s)
	want(d, "job", ref.JobID, again)
	want(d, "wait of a new job", over(d.waits(s, ref, 1, "later")), "waits")
}

func (d *leaserBench) endedWith(session string, ref job.Ref, id int64) int64 {
	d.Helper()
	d.finish(session, ref, job.OutcomeOK)
	return id
}

func caseAWaitIsAskedAbout(d *leaserBench) {
	d.task("t", attempts(3))
	id := d.one("t")
	s, other := d.session("t"), d.session("t")
	ref := d.claimOne(s)
	n := job.NewStep{Number: 1, Name: "go", Kind: job.StepSignal, Type: "int", Sleep: core.Duration(time.Hour)}
	d.waits(s, ref, 1, "go")
	want(d, "by another session", d.save(other, ref, n).Stale, true)
	d.putOff(s, ref, time.Minute)
	want(d, "repeated after its end", over(d.save(s, ref, n).Step), "waits")
	want(d, "by another session after its end", d.save(other, ref, n).Stale, true)
	d.Move(time.Minute)
	d.promote()
	next := d.claimOne(s)
	n.Sleep = core.Duration(2 * time.Hour)
	step := d.save(s, next, n).Step
	want(d, "the first time to wait counts", fmt.Sprint(step.WakeAt.UTC(), step.Attempt), fmt.Sprint(Epoch.Add(time.Hour), 1))
	want(d, "under the older lease", d.save(s, ref, n).Stale, true)
	for _, changed := range map[string]func(n *job.NewStep){
		"another type": func(n *job.NewStep) { n.Type = "string" },
		"another kind": func(n *job.NewStep) { n.Kind = job.StepSleep },
		"another name": func(n *job.NewStep) { n.Name = "gone" },
	} {
		other := n
		changed(&other)
		_, err := d.keeper().SaveStep(d.ctx, s, next, other)
		wantCode(d, err, core.Conflict, "recorded already")
	}
	d.putOff(s, next, time.Hour)
	want(d, "taken", d.signal(id, "go", `1`).Taken, true)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(time.Minute))
	_, err := d.keeper().SaveStep(d.ctx, s, next, job.NewStep{Number: 2, Name: "x", Kind: job.StepSignal, Result: json.RawMessage(`1`)})
	wantCode(d, err, core.Invalid, "result")
}

func caseAWaitingJobSaysWhy(b *bench) {
	b.task("t")
	s := b.session("t")
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	ref := refOf(b.claim(s, 1).Jobs[0])
	must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "it's paid", Kind: job.StepSignal, Sleep: core.Duration(time.Hour)}))(b)
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}}))(b)
	w := must(b.st.Why(b.ctx, "default", id))(b)
	want(b, "why", w.Summary, fmt.Sprintf("Waiting: signal it's paid has not come (step 1 waits for it until %s).", core.Stamp(b.clock.Now().Add(time.Hour))))
	want(b, "next step of job why", w.Next, fmt.Sprintf(`belfry job signal %d 'it'\''s paid'`, id))
	must(b.st.SignalJob(b.ctx, "default", id, job.Signal{Name: "it's paid"}))(b)
	w = must(b.st.Why(b.ctx, "default", id))(b)
	want(b, "says signal", strings.Contains(w.Summary, "signal"), false)
}

func caseSignalsBesideWaits(b *bench) {
	b.task("t")
	s := b.session("t")
	const n = 40
	for range n {
		b.enqueue(job.NewJob{Task: "t"})
	}
	jobs := b.claim(s, n).Jobs
	want(b, "claimed", len(jobs), n)
	errs, counts := make([]error, 3*n), make([]int, 3*n)
	together(3*n, func(i int) {
		ref := refOf(jobs[i%n])
		if i >= n { // two signals for each job
			sent, err := b.st.SignalJob(b.ctx, "default", ref.JobID, job.Signal{Name: "go", Input: json.RawMessage(fmt.Sprint(i))})
			if errs[i] = err; !sent.Existing {
				counts[i] = 1
			}
			return
		}
		saved, err := b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "go", Kind: job.StepSignal, Sleep: core.Duration(time.Hour)})
		if errs[i] = err; err == nil && saved.Step.EndedAt.IsZero() {
			_, errs[i] = b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}})
		}
	})
	for i, err := range errs {
		ok(b, err)
		if i < n {
			continue
		}
		if i < 2*n {
			want(b, "signals that count", counts[i]+counts[i+n], 1)
		}
	}
	must(b.st.Promote(b.ctx))(b)
	for _, j := range jobs {
		step := must(b.st.JobSteps(b.ctx, "default", j.Job.ID))(b)[0]
		want(b, "wait has ended with its signal", !step.EndedAt.IsZero() && !step.TimedOut, true)
		if now := b.job(j.Job.ID); now.State == job.Scheduled {
			b.Errorf("job %d sleeps until %s, want it woken by its signal", now.ID, now.DueAt)
		}
	}
}

func caseSignalsAreBounded(b *bench) {
	b.task("t")
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	for i := range job.MaxSignals {
		must(b.st.SignalJob(b.ctx, "default", id, job.Signal{Name: fmt.Sprint("s", i)}))(b)
	}
	_, err := b.st.SignalJob(b.ctx, "default", id, job.Signal{Name: "more"})
	wantCode(b, err, core.TooLarge, "the most is")
	want(b, "repeated signal is an existing one", must(b.st.SignalJob(b.ctx, "default", id, job.Signal{Name: "s0"}))(b).Existing, true)
	must(b.st.Prune(b.ctx))(b)
	want(b, "signals of a live job", b.count(`select count(*) from belfry.signals`), int64(job.MaxSignals))
	b.sql(`delete from belfry.jobs where id = $1`, id)
	must(b.st.Prune(b.ctx))(b)
	want(b, "signals of a removed job", b.count(`select count(*) from belfry.signals`), int64(0))
}
