package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addLeaser("a step that is saved is there for later attempts, after a retry, a lost worker, a handing back and a sleep", caseAStepThatIsSavedIsThere)
	addLeaser("a step that is saved twice is recorded once, also when the second comes under a lost lease", caseAStepThatIsSavedTwice)
	addLeaser("a step under a lost lease, or by another session, is not recorded, and answers nothing", caseAStepUnderALostLease)
	addLeaser("steps are numbered without a gap, each name is there once, and limits hold", caseStepsAreNumbered)
	addLeaser("the steps of a job are those of no other", caseTheStepsOfAJobAreThoseOfNoOther)
	addLeaser("a sleep ends by the clock that decides, and counts as no failure", caseASleepEndsByTheClock)
	addLeaser("a retry by hand keeps steps, a reset forgets them from one on, and a new job has none", caseARetryByHandKeepsSteps)
	addLeaser("a job whose sleep is forgotten is due at once, and one that waits for its next try is not", caseAForgottenSleep)
	add("housekeeping removes the steps of jobs that are gone, and no others", caseHousekeepingRemovesSteps)
	addNodes("a clock that is set back moves the ends of sleeps with it", caseAClockSetBackMovesSleeps)
}

func (d *leaserBench) keeper() job.StepKeeper {
	d.Helper()
	k, ok := d.br.(job.StepKeeper)
	if !ok {
		d.Fatalf("broker %T does not store steps", d.br)
	}
	return k
}

func (d *leaserBench) save(session string, ref job.Ref, n job.NewStep) job.SavedStep {
	d.Helper()
	return must(d.keeper().SaveStep(d.ctx, session, ref, n))(d)
}

func (d *leaserBench) saved(session string, ref job.Ref, number int, name, result string) job.Step {
	d.Helper()
	got := d.save(session, ref, job.NewStep{Number: number, Name: name, Type: "string", Result: json.RawMessage(result), Took: core.Duration(time.Second)})
	want(d, "stale", got.Stale, false)
	return got.Step
}

// steps returns the steps that an attempt sees, in one line.
func (d *leaserBench) steps(session string, ref job.Ref) string {
	d.Helper()
	return stepsText(must(d.keeper().Steps(d.ctx, session, ref))(d).Steps)
}

func stepsText(all []job.Step) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = fmt.Sprintf("%d %s %s=%s", s.Number, s.Kind, s.Name, s.Result)
	}
	return strings.Join(texts, ", ")
}

func caseAStepThatIsSavedIsThere(d *leaserBench) {
	d.task("t", attempts(9))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	want(d, "at first", d.steps(s, ref), "")
	step := d.saved(s, ref, 1, "charge", `{"id":"c1"}`)
	want(d, "step", fmt.Sprint(step.Number, step.Name, step.Kind, step.Type, step.Attempt, step.Lease, step.Took, step.SavedAt.UTC()),
		fmt.Sprint(1, "charge", job.StepRun, "string", 1, ref.Lease, core.Duration(time.Second), Epoch))
	d.finish(s, ref, job.OutcomeError)
	d.Move(time.Minute)
	d.promote()
	ref = d.claimOne(s)
	want(d, "after a failure", d.steps(s, ref), `1 step charge={"id":"c1"}`)
	want(d, "attempt", d.saved(s, ref, 2, "ship", `"s1"`).Attempt, 2)
	d.finish(s, ref, job.OutcomeHandedBack)
	ref = d.claimOne(s)
	want(d, "after a handing back", d.steps(s, ref), `1 step charge={"id":"c1"}, 2 step ship="s1"`)
	d.Move(lost)
	want(d, "lost", d.release(), 1)
	d.Move(time.Minute)
	d.promote()
	s = d.session("t")
	ref = d.claimOne(s)
	want(d, "after a loss", d.steps(s, ref), `1 step charge={"id":"c1"}, 2 step ship="s1"`)
	d.finish(s, ref, job.OutcomeOK)
	want(d, "steps as the API shows them", stepsText(must(d.ad.JobSteps(d.ctx, "default", id))(d)), `1 step charge={"id":"c1"}, 2 step ship="s1"`)
	_, err := d.ad.JobSteps(d.ctx, "other", id)
	wantCode(d, err, core.NotFound, "no job")
}

func caseAStepThatIsSavedTwice(d *leaserBench) {
	d.task("t", attempts(3))
	d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	first := d.saved(s, ref, 1, "a", `1`)
	d.Move(time.Second)
	want(d, "time of a step that is saved again", d.saved(s, ref, 1, "a", `1`).SavedAt, first.SavedAt)
	for _, other := range []job.NewStep{
		{Number: 1, Name: "a", Type: "string", Result: json.RawMessage(`2`)},
		{Number: 1, Name: "b", Type: "string", Result: json.RawMessage(`1`)},
		{Number: 1, Name: "a", Type: "int", Result: json.RawMessage(`1`)},
		{Number: 1, Name: "a", Type: "string", Result: json.RawMessage(`1`), Kind: job.StepVersion},
	} {
		_, err := d.keeper().SaveStep(d.ctx, s, ref, other)
		wantCode(d, err, core.Conflict, "recorded already")
	}
	d.Move(lost)
	d.release()
	want(d, "after the lease was lost", d.saved(s, ref, 1, "a", `1`).SavedAt, first.SavedAt)
	d.Move(time.Minute)
	d.promote()
	s = d.session("t")
	next := d.claimOne(s)
	_, err := d.keeper().SaveStep(d.ctx, s, next, job.NewStep{Number: 1, Name: "a", Type: "string", Result: json.RawMessage(`1`)})
	wantCode(d, err, core.Conflict, "recorded already")
	want(d, "recorded", d.steps(s, next), "1 step a=1")
}

func caseAStepUnderALostLease(d *leaserBench) {
	d.task("t", attempts(3))
	id := d.one("t")
	s, other := d.session("t"), d.session("t")
	ref := d.claimOne(s)
	d.saved(s, ref, 1, "a", `1`)
	step := job.NewStep{Number: 2, Name: "b", Result: json.RawMessage(`2`)}
	want(d, "by another session", d.save(other, ref, step).Stale, true)
	list := must(d.keeper().Steps(d.ctx, other, ref))(d)
	want(d, "read by another session", fmt.Sprint(list.Stale, len(list.Steps)), "true 0")
	first := job.NewStep{Number: 1, Name: "a", Type: "string", Result: json.RawMessage(`1`)}
	repeated := func(when string) {
		d.Helper()
		for _, stranger := range []string{other, "none"} {
			got := d.save(stranger, ref, first)
			want(d, "repeated "+when+" by another session", fmt.Sprint(got.Stale, got.Step.Attempt, got.Step.SavedAt.IsZero()), "true 0 true")
		}
		want(d, "repeated "+when+" by its own", d.save(s, ref, first).Step.Number, 1)
	}
	repeated("while it runs")
	d.finish(s, ref, job.OutcomeError)
	want(d, "after the end of the attempt", d.save(s, ref, step).Stale, true)
	repeated("after its end")
	d.Move(time.Minute)
	d.promote()
	next := d.claimOne(s)
	want(d, "under the older lease", d.save(s, ref, step).Stale, true)
	list = must(d.keeper().Steps(d.ctx, s, ref))(d)
	want(d, "read under the older lease", fmt.Sprint(list.Stale, len(list.Steps)), "true 0")
	want(d, "recorded", d.steps(s, next), "1 step a=1")
	d.finish(s, next, job.OutcomeOK)
	want(d, "after the end of the job", d.save(s, next, step).Stale, true)
	want(d, "in the end", stepsText(must(d.ad.JobSteps(d.ctx, "default", id))(d)), "1 step a=1")
}

func caseStepsAreNumbered(d *leaserBench) {
	d.task("t")
	d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	refused := func(code core.Code, say string, n job.NewStep) {
		d.Helper()
		_, err := d.keeper().SaveStep(d.ctx, s, ref, n)
		wantCode(d, err, code, say)
	}
	refused(core.Conflict, "must be number 1", job.NewStep{Number: 2, Name: "a"})
	d.saved(s, ref, 1, "a", `1`)
	refused(core.Conflict, "must be number 2", job.NewStep{Number: 3, Name: "b"})
	refused(core.Conflict, `has the name "a" already`, job.NewStep{Number: 2, Name: "a"})
	refused(core.Invalid, "number", job.NewStep{Number: 0, Name: "b"})
	refused(core.Invalid, "number", job.NewStep{Number: job.MaxSteps + 1, Name: "b"})
	refused(core.Invalid, "name", job.NewStep{Number: 2})
	refused(core.Invalid, "name", job.NewStep{Number: 2, Name: strings.Repeat("x", job.MaxStepName+1)})
	refused(core.Invalid, "name", job.NewStep{Number: 2, Name: "a\x00b"})
	refused(core.Invalid, "kind", job.NewStep{Number: 2, Name: "b", Kind: "nap"})
	refused(core.Invalid, "sleep", job.NewStep{Number: 2, Name: "b", Kind: job.StepSleep, Sleep: job.MaxStepSleep + 1})
	refused(core.Invalid, "result", job.NewStep{Number: 2, Name: "b", Result: json.RawMessage(`"` + strings.Repeat("x", job.MaxStepResult) + `"`)})
	refused(core.Invalid, "levels deep", job.NewStep{Number: 2, Name: "b", Result: json.RawMessage(strings.Repeat("[", core.MaxJSONDepth+1) + strings.Repeat("]", core.MaxJSONDepth+1))})
	big := `"` + strings.Repeat("x", job.MaxStepResult-2) + `"`
	most := job.MaxStepsSize/job.MaxStepResult - 1
	for i := range most {
		d.saved(s, ref, 2+i, fmt.Sprint("big ", i), big)
	}
	d.saved(s, ref, 2+most, "rest", big[:job.MaxStepResult-2]+`"`)
	refused(core.TooLarge, "together", job.NewStep{Number: 3 + most, Name: "more", Result: json.RawMessage(`"x"`)})
	d.saved(s, ref, 3+most, "none", ``)
}

func caseTheStepsOfAJobAreThoseOfNoOther(d *leaserBench) {
	d.task("t")
	d.one("t")
	d.one("t")
	s := d.session("t")
	c := d.claim(s, 2)
	one, two := refOf(c.Jobs[0]), refOf(c.Jobs[1])
	d.saved(s, one, 1, "a", `1`)
	want(d, "steps of the other job", d.steps(s, two), "")
	d.saved(s, two, 1, "a", `2`)
	want(d, "steps of one job", d.steps(s, one), "1 step a=1")
	want(d, "steps of the other job", d.steps(s, two), "1 step a=2")
}

func caseASleepEndsByTheClock(d *leaserBench) {
	d.task("t", attempts(1))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	nap := job.NewStep{Number: 1, Name: "a month", Kind: job.StepSleep, Sleep: core.Duration(31 * 24 * time.Hour)}
	step := d.save(s, ref, nap).Step
	want(d, "end of the sleep", step.WakeAt, Epoch.Add(31*24*time.Hour))
	d.Move(time.Second)
	want(d, "saved again", d.save(s, ref, nap).Step.WakeAt, step.WakeAt)
	d.finish(s, ref, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = nap.Sleep })
	j := d.wantState(id, job.Scheduled)
	want(d, "failures", j.Failures, 0)
	want(d, "due", j.DueAt, Epoch.Add(time.Second+job.MaxSnooze.D()))
	d.Move(job.MaxSnooze.D())
	d.promote()
	s = d.session("t")
	ref = d.claimOne(s)
	list := must(d.keeper().Steps(d.ctx, s, ref))(d)
	want(d, "left", list.Steps[0].WakeAt.Sub(list.Now), 24*time.Hour-time.Second)
	d.finish(s, ref, job.OutcomeOK)
	d.wantState(id, job.Succeeded)
}

func caseARetryByHandKeepsSteps(d *leaserBench) {
	d.task("t", attempts(1))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	for i, name := range []string{"a", "b", "c"} {
		d.saved(s, ref, 1+i, name, `1`)
	}
	_, err := d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{})
	wantCode(d, err, core.Conflict, "is running")
	d.finish(s, ref, job.OutcomeError)
	d.wantState(id, job.Failed)
	_, err = d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "x"})
	wantCode(d, err, core.NotFound, `no step "x"`)
	_, err = d.ad.ResetSteps(d.ctx, "other", id, job.StepReset{})
	wantCode(d, err, core.NotFound, "no job")
	must(d.ad.RetryJobs(d.ctx, core.AnyNamespace, view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimOne(s)
	want(d, "after a retry by hand", d.steps(s, ref), "1 step a=1, 2 step b=1, 3 step c=1")
	d.finish(s, ref, job.OutcomeError)
	want(d, "forgotten", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "b"}))(d), 2)
	must(d.ad.RetryJobs(d.ctx, core.AnyNamespace, view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimOne(s)
	want(d, "after a reset", d.steps(s, ref), "1 step a=1")
	d.saved(s, ref, 2, "other", `2`)
	d.finish(s, ref, job.OutcomeError)
	want(d, "forgotten", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{Note: "wrong"}))(d), 2)
	want(d, "none left", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{}))(d), 0)
	again := must(d.ad.RunJobAgain(d.ctx, "default", id, job.RunAgain{}))(d).Job.ID
	ref = d.claimOne(s)
	want(d, "job", ref.JobID, again)
	want(d, "steps of a new job", d.steps(s, ref), "")
}

func caseAForgottenSleep(d *leaserBench) {
	d.task("t", attempts(2))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	d.saved(s, ref, 1, "a", `1`)
	nap := job.NewStep{Number: 2, Name: "a month", Kind: job.StepSleep, Sleep: core.Duration(30 * 24 * time.Hour)}
	d.save(s, ref, nap)
	d.putOff(s, ref, nap.Sleep.D())
	want(d, "asleep", d.wantState(id, job.Scheduled).DueAt, Epoch.Add(nap.Sleep.D()))
	want(d, "forgotten", must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: nap.Name}))(d), 1)
	want(d, "due", d.wantState(id, job.Scheduled).DueAt, Epoch)
	ref = d.claimTask(s, "t")
	want(d, "kept", d.steps(s, ref), "1 step a=1")
	d.save(s, ref, nap)
	d.finish(s, ref, job.OutcomeError)
	due := d.wantState(id, job.Scheduled).DueAt
	must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{}))(d)
	want(d, "due time of a sleeping job", d.wantState(id, job.Scheduled).DueAt, due)
}

func caseHousekeepingRemovesSteps(b *bench) {
	b.task("t")
	s := b.session("t")
	for range 3 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	jobs := b.claim(s, 3).Jobs
	for _, j := range jobs {
		must(b.st.SaveStep(b.ctx, s.ID, refOf(j), job.NewStep{Number: 1, Name: "a"}))(b)
	}
	b.finish(s, jobs[0], job.OutcomeOK)
	b.finish(s, jobs[1], job.OutcomeOK)
	left := func(j job.LeasedJob) int64 {
		must(b.st.Prune(b.ctx))(b)
		return b.count(`select count(*) from belfry.steps where job_id = $1`, j.Job.ID)
	}
	want(b, "steps of an ended job", left(jobs[0]), 1)
	b.sql(`delete from belfry.jobs_done where id = $1`, jobs[0].Job.ID)
	want(b, "steps of a removed job", left(jobs[0]), 0)
	want(b, "steps of another ended job", left(jobs[1]), 1)
	b.sql(`update belfry.steps set saved_at = 1`)
	want(b, "steps of an old running job", left(jobs[2]), 1)
}

func caseAClockSetBackMovesSleeps(b *bench, nodes []*store.Store) {
	b.task("t")
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	ref := refOf(b.claim(s, 1).Jobs[0])
	at := must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "nap", Kind: job.StepSleep, Sleep: core.Duration(time.Hour)}))(b).Step.WakeAt
	follow(b, nodes)
	b.clock.Set(-30 * time.Minute)
	follow(b, nodes)
	want(b, "end", must(b.st.JobSteps(b.ctx, "default", ref.JobID))(b)[0].WakeAt, at.Add(-30*time.Minute))
}
