package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a list whose task was deleted ends with what is under way, and runs the other items when it is retried", caseAListWhoseTaskWasDeleted)
	add("signals of a run that was retried are taken in their order", caseSignalsAfterARetry)
	add("a clock that is set moves the ends of pauses, waits and timeouts of workflows with it", caseAClockThatIsSetMovesWorkflows)
	addNodes("a clock that is set is no time that passed for workflows, before anybody has followed it too", caseAClockThatIsSetIsNoTimeOfWorkflows)
	add("an approval that comes after its timeout is refused, though no engine has looked", caseASignalAfterItsTimeout)
	add("notes of signals and retries are bounded text", caseNotesOfWorkflows)
	add("a retry from a step that was canceled before it began is forgotten by the next", caseARetryThatWasCanceled)
	add("a retry judges conditions again behind a step that it begins again", caseARetryJudgesAgain)
	add("a retry from a list that partly failed begins all its items again", caseARetryFromAList)
	add("runs of workflows that are ready at the same time begin in the order of their jobs", caseRunsBeginInTheOrderOfTheirJobs)
	add("expressions that are much work share a transaction with no others, and hold up no other run", caseHeavyExpressions)
	add("expressions rest as long as they worked, and let other writers write", caseHeavyExpressionsRest)
	add("an expression that cannot be evaluated says why", caseSentencesOfExpressions)
	add("a run whose task is no longer a workflow is not retried as something else", caseAWorkflowThatIsNoneAnyLonger)
}

func caseAListWhoseTaskWasDeleted(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "fan", Task: "a", ForEach: "input", AtOnce: 2}, step("join", "b", "fan")}})
	j := f.run("w", `[1,2,3,4,5]`)
	running := f.claim(f.session, 2).Jobs
	w := must(b.st.Task(b.ctx, "default", "w"))(b)
	w.Workflow.Steps = []task.Step{step("join", "b")}
	must(b.st.UpdateTask(b.ctx, w))(b)
	ok(b, b.st.DeleteTask(b.ctx, "default", "a"))
	f.finish(f.session, running[0], job.OutcomeOK)
	f.engine()
	b.wantState(j.ID, job.Waiting)
	want(b, "states", f.states(j.ID), "fan running, join pending")
	f.finish(f.session, running[1], job.OutcomeOK)
	f.engine()
	b.wantState(j.ID, job.Failed)
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps[0].Error, `task "a" no longer exists`)
	b.task("a")
	ok(b, retryRun(b, j.ID, workflow.Retrying{}))
	f.ran = nil
	want(b, "work of the retried run", f.works(nil), "a*2 a b")
}

func caseSignalsAfterARetry(b *bench) {
	hour := core.Duration(time.Hour)
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "one", Signal: "s", Timeout: hour}, {Name: "two", Task: "a", Needs: []string{"one"}},
		{Name: "three", Signal: "s", Needs: []string{"two"}, Timeout: hour}, {Name: "four", Task: "b", Needs: []string{"three"}, Input: map[string]string{"n": "steps.three.output"}},
	}})
	j := f.run("w", "")
	send := func(id, input string) {
		must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "s", ID: id, Input: []byte(input)}))(b)
	}
	send("9", `1`)
	send("8", `2`)
	send("7", `3`)
	f.works(failing("a"))
	b.wantState(j.ID, job.Failed)
	ok(b, retryRun(b, j.ID, workflow.Retrying{From: "one"}))
	f.engine()
	send("1", `4`)
	f.works(nil)
	b.wantState(j.ID, job.Succeeded)
	want(b, "taken", f.ran[len(f.ran)-1], `b{"n":3}`)
}

// aged runs a workflow until its pause of an hour and its wait of two hours are in progress.
func aged(b *bench) (*workflowBench, job.Job) {
	b.Helper()
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "pause", Sleep: core.Duration(time.Hour)}, step("after", "a", "pause"),
		{Name: "paid", Signal: "s", Timeout: core.Duration(2 * time.Hour)},
	}}, func(t *task.Task) { t.Timeout = core.Duration(3 * time.Hour) })
	j := f.run("w", "")
	b.clock.Move(30 * time.Minute)
	f.engine()
	return f, j
}

func caseAClockThatIsSetMovesWorkflows(b *bench) {
	for _, by := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		f, j := aged(b)
		b.clock.Set(by)
		ok(b, b.st.ShiftClock(b.ctx, by))
		f.engine()
		want(b, "states", f.states(j.ID), "pause sleeping, after pending, paid waiting")
		s := must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b)
		want(b, "next time of the run", s.NextAt, b.clock.Now().Add(30*time.Minute))
		want(b, "pause", s.Run.Steps[0].Until, s.NextAt)
		b.clock.Move(30 * time.Minute)
		want(b, "work", f.works(nil), "a")
		b.clock.Move(time.Hour)
		f.engine()
		want(b, "states", f.states(j.ID), "pause ok, after ok, paid failed")
		want(b, "error", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps[2].Error, "timed out after 2h")
		want(b, "state", b.job(j.ID).State, job.Failed)
		b.sql(`delete from belfry.tasks where name = 'w'`)
	}
}

func caseAClockThatIsSetIsNoTimeOfWorkflows(b *bench, nodes []*store.Store) {
	for _, by := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
			step("one", "a"), {Name: "pause", Sleep: core.Duration(time.Hour), Needs: []string{"one"}}, {Name: "paid", Signal: "s", Timeout: core.Duration(2 * time.Hour)},
		}}, func(t *task.Task) { t.Timeout = core.Duration(3 * time.Hour) })
		j := f.run("w", "")
		running := f.claim(f.session, 1).Jobs[0]
		follow(b, nodes)
		b.clock.Set(by)
		f.finish(f.session, running, job.OutcomeOK) // before any node has followed it
		want(b, "states", f.states(j.ID), "one ok, pause sleeping, paid waiting")
		follow(b, nodes)
		want(b, "next time of the run", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).NextAt, b.clock.Now().Add(time.Hour))
		b.cancel(j.ID)
		f.engine()
		b.wantState(j.ID, job.Canceled)
		b.sql(`delete from belfry.tasks where name = 'w'`)
	}
}

func caseASignalAfterItsTimeout(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?", Timeout: core.Duration(time.Minute)}, step("ship", "a", "release")}})
	j := f.run("w", "")
	b.clock.Move(time.Hour) // no engine has looked
	_, err := b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release"})
	wantCode(b, err, core.Conflict, "has ended")
	want(b, "work", f.works(nil), "")
	b.wantState(j.ID, job.Failed)
}

func caseNotesOfWorkflows(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?"}, step("ship", "a", "release")}})
	j := f.run("w", "")
	long := strings.Repeat("x", core.MaxDescription+1)
	for _, note := range []string{"a\x00b", "a\xffb", long} {
		_, err := b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release", Note: note})
		wantCode(b, err, core.Invalid, "note")
	}
	must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release", Note: long[1:]}))(b)
	f.works(failing("a"))
	for _, note := range []string{"a\x00b", "a\xffb", long} {
		wantCode(b, retryRun(b, j.ID, workflow.Retrying{Note: note}), core.Invalid, "note")
	}
	b.wantState(j.ID, job.Failed)
}

func caseARetryThatWasCanceled(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a"), step("two", "b", "one")}})
	j := f.run("w", "")
	f.works(failing("b"))
	ok(b, retryRun(b, j.ID, workflow.Retrying{From: "one"}))
	b.cancel(j.ID)
	b.wantState(j.ID, job.Canceled)
	b.retry(j.ID)
	want(b, "work of the retried run", f.works(nil), "b")
	b.wantState(j.ID, job.Succeeded)
}

func caseAWorkflowThatIsNoneAnyLonger(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a")}})
	j := f.run("w", "")
	f.works(failing("a"))
	t := must(b.st.Task(b.ctx, "default", "w"))(b)
	t.Kind, t.Workflow = task.KindFunc, nil
	must(b.st.UpdateTask(b.ctx, t))(b)
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{}), core.Conflict, "no longer a workflow")
	want(b, "left", b.retry(j.ID).Left[j.ID], "its task is no longer a workflow")
	b.wantState(j.ID, job.Failed)
}

func caseARetryJudgesAgain(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		step("one", "a"),
		{Name: "well", Task: "b", Needs: []string{"one"}, When: "steps.one.state == 'ok'"},
		{Name: "badly", Task: "c", Needs: []string{"one"}, When: "steps.one.state == 'failed'"},
		{Name: "never", Task: "e", When: "false"}, step("last", "d", "well"),
	}})
	j := f.run("w", "")
	want(b, "order", f.works(failing("a")), "a c+d")
	want(b, "states", f.states(j.ID), "one failed, well skipped, badly ok, never skipped, last ok")
	ok(b, retryRun(b, j.ID, workflow.Retrying{}))
	want(b, "work of the retried run", f.works(nil), "a b")
	want(b, "states", f.states(j.ID), "one ok, well ok, badly ok, never skipped, last ok")
	b.wantState(j.ID, job.Succeeded)
}

func caseARetryFromAList(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "fan", Task: "a", ForEach: "input"}, step("join", "b", "fan")}})
	j := f.run("w", `[1,2,3]`)
	f.works(func(j job.Job, fin *job.Finish) {
		if string(j.Input) == "2" {
			fin.Outcome = job.OutcomeError
		}
	})
	b.wantState(j.ID, job.Failed)
	ok(b, retryRun(b, j.ID, workflow.Retrying{From: "fan"}))
	want(b, "work of the retried run", f.works(nil), "a*3 b")
	b.wantState(j.ID, job.Succeeded)
}

func caseSentencesOfExpressions(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "one", Task: "a", When: "1 + 1"}, {Name: "two", Task: "a", ForEach: "1..10000000"},
	}})
	j := f.run("w", "")
	steps := must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps
	want(b, "error of the first step", steps[0].Error, "when: is a number and not true or false")
	want(b, "error of the second step", steps[1].Error, "for_each: memory budget exceeded: its lists may have 1000000 entries together")
}

func caseRunsBeginInTheOrderOfTheirJobs(b *bench) {
	newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a")}})
	const runs, begun = 60, 50 // of one pass
	asked := make([]job.NewJob, runs)
	for i := range asked {
		asked[i].Task = "w"
	}
	made := must(b.st.Enqueue(b.ctx, asked))(b)
	must(b.st.StartWorkflows(b.ctx))(b)
	for i, e := range made {
		state := job.Ready
		if i < begun {
			state = job.Waiting
		}
		b.wantState(e.Job.ID, state)
	}
}

func caseHeavyExpressions(b *bench) {
	heavy := task.Step{Name: "one", Task: "a", OnFailure: task.FailureContinue, When: "any(1..3000, {let x = #; any(1..3000, {# == -x})})"}
	two, three := heavy, heavy
	two.Name, three.Name = "two", "three"
	f := newGraph(b, "heavy", task.Workflow{Steps: []task.Step{heavy, two, three}})
	newGraph(b, "light", task.Workflow{Steps: []task.Step{step("one", "b")}, Output: map[string]string{"one": "1"}})
	slow, quick := b.enqueue(job.NewJob{Task: "heavy"}), b.enqueue(job.NewJob{Task: "light"})
	must(b.st.StartWorkflows(b.ctx))(b)
	want(b, "states", f.states(slow.ID), "one failed, two pending, three pending")
	want(b, "states", f.states(quick.ID), "one pending")
	b.clock.Move(time.Second)
	must(b.st.WakeWorkflows(b.ctx))(b)
	want(b, "states", f.states(slow.ID), "one failed, two failed, three pending")
	must(b.st.WakeWorkflows(b.ctx))(b)
	want(b, "states", f.states(quick.ID), "one running")
	want(b, "work", f.works(nil), "b")
	want(b, "states", f.states(slow.ID), "one failed, two failed, three failed")
	b.wantState(slow.ID, job.Succeeded)
	want(b, "output", string(b.wantState(quick.ID, job.Succeeded).Output), `{"one":1}`)
}

func caseHeavyExpressionsRest(b *bench) {
	heavy := step("one", "a")
	heavy.When = "any(1..3000, {let x = #; any(1..3000, {# == -x})})"
	newGraph(b, "heavy", task.Workflow{Steps: []task.Step{heavy}})
	then := step("two", "b", "one")
	then.When = "true"
	f := newGraph(b, "light", task.Workflow{Steps: []task.Step{step("one", "a"), then}})
	for range 100 { // until a step ends before the rest is over, however slow the machine is
		light := f.run("light", "")
		first := f.claim(f.session, 1).Jobs[0].Job
		b.enqueue(job.NewJob{Task: "heavy"})
		must(b.st.StartWorkflows(b.ctx))(b)
		must(b.st.Finish(b.ctx, f.session.ID, []job.Finish{{Ref: job.Ref{JobID: first.ID, Lease: first.Lease}, Outcome: job.OutcomeOK}}))(b)
		states := f.states(light.ID)
		if must(b.st.StartWorkflows(b.ctx))(b).Rest == 0 {
			f.works(nil)
			continue
		}
		want(b, "states in the rest", states, "one ok, two pending")
		want(b, "work after it", f.works(nil), "b")
		b.wantState(light.ID, job.Succeeded)
		return
	}
	b.Fatal("heavy expressions do not make the engine rest")
}
