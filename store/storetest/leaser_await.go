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
	addLeaser("a step waits for the end of a job, which makes its own due at once, however it ends", caseAStepWaitsForAJob)
	addLeaser("a job that ends before the step, or before the attempt that waits for it, is not slept over", caseAJobThatEndsBeforeItsWait)
	addLeaser("a job that ends after the one that waited for it tells a retry", caseAJobEndsAfterItsParent)
	addLeaser("a step waits for jobs that can tell it, and not for itself", caseAStepWaitsForNoOther)
	addLeaser("a job and the one that waits for it may end in one call", caseAJobEndsWithItsParent)
	add("a job that waits for another says which, and jobs that end while attempts end to wait wake each", caseJobsEndBesideWaits)
}

func (d *leaserBench) awaits(session string, ref job.Ref, number int, child int64) job.Step {
	d.Helper()
	got := d.save(session, ref, job.NewStep{Number: number, Name: fmt.Sprint("wait ", number), Kind: job.StepAwait, Child: child})
	want(d, "stale", got.Stale, false)
	return got.Step
}

func (d *leaserBench) claimTask(session, task string) job.Ref {
	d.Helper()
	d.promote()
	c := d.claim(session, 1)
	want(d, "claimed", len(c.Jobs), 1)
	want(d, "task", c.Jobs[0].Job.Task, task)
	return refOf(c.Jobs[0])
}

func caseAStepWaitsForAJob(d *leaserBench) {
	d.task("t", attempts(1))
	d.task("child", attempts(1))
	s, c := d.session("t"), d.session("child")
	large, brackets := `"`+strings.Repeat("x", job.MaxStepResult)+`"`, `"`+strings.Repeat("<", 200<<10)+`"`
	for say, end := range map[string]func(child int64){
		`{"state":"succeeded","output":{"n":1}}`: func(int64) {
			d.finish(c, d.claimTask(c, "child"), job.OutcomeOK, func(f *job.Finish) { f.Output = json.RawMessage(`{"n":1}`) })
		},
		`{"state":"succeeded","output":` + brackets + `}`: func(int64) {
			d.finish(c, d.claimTask(c, "child"), job.OutcomeOK, func(f *job.Finish) { f.Output = json.RawMessage(brackets) })
		},
		`{"state":"succeeded","large":true}`: func(int64) {
			d.finish(c, d.claimTask(c, "child"), job.OutcomeOK, func(f *job.Finish) { f.Output = json.RawMessage(large) })
		},
		`{"state":"failed","error":"no bill"}`: func(int64) {
			d.finish(c, d.claimTask(c, "child"), job.OutcomeError, func(f *job.Finish) { f.Error = "no bill" })
		},
		`{"state":"canceled","error":"canceled by`: func(child int64) {
			d.putOff(c, d.claimTask(c, "child"), time.Hour)
			must(d.ad.CancelJobs(d.ctx, "default", view.Selection{IDs: []int64{child}}))(d)
		},
		`{"state":"failed","error":"its worker`: func(int64) {
			d.claimTask(c, "child")
			d.Move(lost)
			d.release()
			s, c = d.session("t"), d.session("child")
		},
	} {
		id := d.one("t")
		ref := d.claimTask(s, "t")
		child := d.spawns(s, ref, 1, "bill", job.NewJob{Task: "child"})
		step := d.awaits(s, ref, 2, child)
		want(d, "waits", fmt.Sprint(step.EndedAt.IsZero(), step.Child, step.TimedOut), fmt.Sprint(true, child, false))
		d.putOff(s, ref, time.Hour)
		end(child)
		d.wantState(id, job.Scheduled) // and due, so that it can be claimed
		ref = d.claimTask(s, "t")
		step = must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[1]
		want(d, fmt.Sprintf("%s begins with %s", step.Result, say), strings.HasPrefix(string(step.Result), say), true)
		want(d, "timed out", step.TimedOut, false)
		want(d, "asked once more", string(d.awaits(s, ref, 2, child).Result), string(step.Result))
		d.finish(s, ref, job.OutcomeOK)
	}
}

func caseAJobEndsAfterItsParent(d *leaserBench) {
	d.task("t", attempts(1))
	d.task("child")
	id := d.one("t")
	s, c := d.session("t"), d.session("child")
	ref := d.claimTask(s, "t")
	d.awaits(s, ref, 2, d.spawns(s, ref, 1, "bill", job.NewJob{Task: "child"}))
	d.finish(s, ref, job.OutcomeError)
	d.finish(c, d.claimTask(c, "child"), job.OutcomeOK)
	want(d, "recorded", string(must(d.ad.JobSteps(d.ctx, "default", id))(d)[1].Result), `{"state":"succeeded"}`)
	d.wantState(id, job.Failed)
	must(d.ad.RetryJobs(d.ctx, "default", view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimTask(s, "t")
	want(d, "after a retry", string(must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[1].Result), `{"state":"succeeded"}`)
}

func caseAJobThatEndsBeforeItsWait(d *leaserBench) {
	d.task("t")
	d.task("child")
	id := d.one("t")
	s, c := d.session("t"), d.session("child")
	ref := d.claimTask(s, "t")
	child := d.spawns(s, ref, 1, "bill", job.NewJob{Task: "child"})
	d.finish(c, d.claimTask(c, "child"), job.OutcomeOK)
	want(d, "at once", string(d.awaits(s, ref, 2, child).Result), `{"state":"succeeded"}`)
	second := d.spawns(s, ref, 3, "again", job.NewJob{Task: "child"})
	want(d, "waits", d.awaits(s, ref, 4, second).EndedAt.IsZero(), true)
	d.finish(c, d.claimTask(c, "child"), job.OutcomeOK)
	d.putOff(s, ref, time.Hour)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch)
	// A manual retry of the job changes nothing for jobs that already know how it ended.
	ref = d.claimTask(s, "t")
	want(d, "recorded", string(must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[3].Result), `{"state":"succeeded"}`)
	third := d.spawns(s, ref, 5, "third", job.NewJob{Task: "child"})
	d.awaits(s, ref, 6, third)
	d.finish(s, ref, job.OutcomeError)
	must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "wait 6"}))(d)
	d.finish(c, d.claimTask(c, "child"), job.OutcomeOK)
	d.Move(time.Hour)
	ref = d.claimTask(d.session("t"), "t")
	want(d, "lease grows", ref.Lease > 0, true)
}

func caseAStepWaitsForNoOther(d *leaserBench) {
	d.task("t")
	d.task("child")
	id := d.one("t")
	other := d.one("child")
	s := d.session("t")
	ref := d.claimTask(s, "t")
	refused := func(code core.Code, say string, n job.NewStep) {
		d.Helper()
		n.Number, n.Name = 1, "wait"
		_, err := d.keeper().SaveStep(d.ctx, s, ref, n)
		wantCode(d, err, code, say)
	}
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Kind: job.StepAwait, Child: other})
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Kind: job.StepAwait, Child: id})
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Kind: job.StepAwait, Child: 1 << 40})
	refused(core.Invalid, "child", job.NewStep{Kind: job.StepAwait})
	refused(core.Invalid, "child", job.NewStep{Kind: job.StepSleep, Child: other})
	refused(core.Invalid, "result", job.NewStep{Kind: job.StepAwait, Child: other, Result: json.RawMessage(`1`)})
	c := d.session("child")
	d.finish(c, d.claimTask(c, "child"), job.OutcomeOK) // its end is not reported to jobs that did not enqueue it
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Kind: job.StepAwait, Child: other})
	child := d.spawns(s, ref, 1, "next", job.NewJob{Task: "t"})
	d.awaits(s, ref, 2, child)
	below := d.claimTask(s, "t")
	refused = func(code core.Code, say string, n job.NewStep) {
		d.Helper()
		_, err := d.keeper().SaveStep(d.ctx, s, below, n)
		wantCode(d, err, code, say)
	}
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Number: 1, Name: "wait", Kind: job.StepAwait, Child: child})
	refused(core.Conflict, "was not enqueued by a step", job.NewStep{Number: 1, Name: "wait", Kind: job.StepAwait, Child: id})
	grand := d.spawns(s, below, 1, "next", job.NewJob{Task: "t"})
	d.awaits(s, below, 2, grand)
	last := d.claimTask(s, "t")
	_, err := d.keeper().SaveStep(d.ctx, s, last, job.NewStep{Number: 1, Name: "wait", Kind: job.StepAwait, Child: child})
	wantCode(d, err, core.Conflict, "was not enqueued by a step")
	_, err = d.keeper().SaveStep(d.ctx, s, ref, job.NewStep{Number: 2, Name: "wait 2", Kind: job.StepAwait, Child: grand})
	wantCode(d, err, core.Conflict, "recorded already")
	_, err = d.keeper().SaveStep(d.ctx, s, ref, job.NewStep{Number: 3, Name: "next", Result: json.RawMessage(`1`)})
	wantCode(d, err, core.Conflict, fmt.Sprintf("step 2 of job %d waits still", ref.JobID))
	_, err = d.ad.SignalJob(d.ctx, "default", id, job.Signal{Name: "wait 2"})
	wantCode(d, err, core.Conflict, "of the kind await, and waits for no signal")
}

func caseAJobEndsWithItsParent(d *leaserBench) {
	for _, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError} {
		name := "t-" + string(outcome)
		d.task(name, attempts(1))
		id := d.one(name)
		s := d.session(name)
		ref := d.claimTask(s, name)
		child := d.spawns(s, ref, 1, "bill", job.NewJob{Task: name})
		d.awaits(s, ref, 2, child)
		below := d.claimTask(s, name)
		must(d.br.Finish(d.ctx, s, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}, {Ref: below, Outcome: outcome}}))(d)
		want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch)
		want(d, "job", d.claimTask(s, name).JobID, id)
	}
}

func caseJobsEndBesideWaits(b *bench) {
	b.task("t")
	b.task("child", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s, c := b.session("t"), b.session("child")
	const n = 30
	for range n {
		b.enqueue(job.NewJob{Task: "t"})
	}
	parents := b.claim(s, n).Jobs
	children := map[int64]int64{}
	for _, p := range parents {
		saved := must(b.st.SaveStep(b.ctx, s.ID, refOf(p), job.NewStep{Number: 1, Name: "spawn", Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}}))(b)
		children[p.Job.ID] = saved.Step.Child
	}
	running := b.claim(c, n).Jobs
	want(b, "children", len(running), n)
	errs := make([]error, 2*n)
	together(2*n, func(i int) {
		if i >= n {
			outcome := job.OutcomeOK
			if i%2 == 0 {
				outcome = job.OutcomeError
			}
			_, errs[i] = b.st.Finish(b.ctx, c.ID, []job.Finish{{Ref: refOf(running[i-n]), Outcome: outcome}})
			return
		}
		ref := refOf(parents[i])
		step := job.NewStep{Number: 2, Name: "wait", Kind: job.StepAwait, Child: children[ref.JobID]}
		for range 2 {
			saved, err := b.st.SaveStep(b.ctx, s.ID, ref, step)
			if errs[i] = err; err != nil || !saved.Step.EndedAt.IsZero() {
				return
			}
		}
		_, errs[i] = b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}})
	})
	for _, err := range errs {
		ok(b, err)
	}
	must(b.st.Promote(b.ctx))(b)
	for _, p := range parents {
		want(b, "ended", must(b.st.JobSteps(b.ctx, "default", p.Job.ID))(b)[1].EndedAt.IsZero(), false)
		if now := b.job(p.Job.ID); now.State == job.Scheduled {
			b.Errorf("job %d is scheduled until %s, want it ready after the end of its child", now.ID, now.DueAt)
		}
	}
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	var ref job.Ref
	for _, j := range b.claim(s, n+1).Jobs {
		if j.Job.ID == id {
			ref = refOf(j)
		}
	}
	child := must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "spawn", Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}}))(b).Step.Child
	must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 2, Name: "wait", Kind: job.StepAwait, Child: child}))(b)
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}}))(b)
	w := must(b.st.Why(b.ctx, "default", id))(b)
	want(b, "why, next", w.Summary+" "+w.Next, fmt.Sprintf("Waiting: job %d has not ended (step 2 waits for it). belfry job why %d", child, child))
}
