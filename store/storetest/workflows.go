package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// workflowBench is a bench with a workflow and the worker of its steps.
type workflowBench struct {
	*bench
	session job.Session
	ran     []string // tasks in the order in which their jobs ended, with their inputs
}

func newGraph(b *bench, name string, w task.Workflow, more ...func(*task.Task)) *workflowBench {
	b.Helper()
	f := &workflowBench{bench: b}
	for _, s := range w.Steps {
		if s.Task == "" {
			continue
		}
		if _, err := b.st.Task(b.ctx, "default", s.Task); err != nil {
			b.task(s.Task, func(t *task.Task) { t.Retry.MaxAttempts = 1 })
		}
	}
	t := task.Task{Name: name, Workflow: &w}
	for _, m := range more {
		m(&t)
	}
	must(b.st.CreateTask(b.ctx, t))(b)
	f.session = must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"a", "b", "c", "d", "e"}, Queues: map[string]int{"default": 2000}, TTL: job.MaxSessionTTL,
	}))(b)
	return f
}

func (f *workflowBench) run(name, input string) job.Job {
	f.Helper()
	n := job.NewJob{Task: name}
	if input != "" {
		n.Input = json.RawMessage(input)
	}
	j := f.enqueue(n)
	f.engine()
	return j
}

// engine does the work of a node's loop.
func (f *workflowBench) engine() {
	f.Helper()
	for range 1000 {
		p := must(f.st.StartWorkflows(f.ctx))(f)
		if !p.NextAt.IsZero() && !p.NextAt.After(p.Now) {
			p = must(f.st.WakeWorkflows(f.ctx))(f)
		}
		if p.Jobs == 0 {
			return
		}
	}
	f.Fatal("the engine always has more work")
}

// works runs all ready jobs, one batch at a time, and returns the order of their ends.
func (f *workflowBench) works(end func(j job.Job, fin *job.Finish)) string {
	f.Helper()
	var order []string
	for range 1000 {
		f.engine()
		claimed := f.claim(f.session, 1000).Jobs
		if len(claimed) == 0 {
			return strings.Join(order, " ")
		}
		f.clock.Move(time.Second)
		names := map[string]int{}
		var fins []job.Finish
		for _, j := range claimed {
			fin := job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK}
			if end != nil {
				end(j.Job, &fin)
			}
			names[j.Job.Task]++
			f.ran = append(f.ran, j.Job.Task+string(j.Job.Input))
			fins = append(fins, fin)
		}
		for _, done := range must(f.st.Finish(f.ctx, f.session.ID, fins))(f) {
			want(f, "stale", done.Stale, false)
		}
		var round []string
		for name, n := range names {
			if n > 1 {
				name += fmt.Sprintf("*%d", n)
			}
			round = append(round, name)
		}
		slices.Sort(round)
		order = append(order, strings.Join(round, "+"))
	}
	f.Fatal("the run does not end")
	return ""
}

func failing(names ...string) func(job.Job, *job.Finish) {
	return func(j job.Job, fin *job.Finish) {
		if slices.Contains(names, j.Task) {
			fin.Outcome, fin.Error = job.OutcomeError, "no"
		}
	}
}

func (f *workflowBench) states(id int64) string {
	f.Helper()
	var parts []string
	for _, s := range must(f.st.WorkflowRun(f.ctx, "default", id))(f).Run.Steps {
		parts = append(parts, s.Name+" "+string(s.State))
	}
	return strings.Join(parts, ", ")
}

func step(name, task_ string, needs ...string) task.Step {
	return task.Step{Name: name, Task: task_, Needs: needs}
}

func init() {
	add("a workflow runs its steps as their needs end, and each once", caseAWorkflowRunsItsSteps)
	add("a workflow hands outputs on, chooses by conditions and makes an output", caseAWorkflowHandsOutputsOn)
	add("a step that fails skips those that need it, unless they handle it, and cleanup runs", caseAStepThatFails)
	add("a list runs a job for each item, no more at once than it may, and is joined", caseAListRunsAJobForEachItem)
	add("a list larger than a piece is written in pieces, and one too large is refused", caseALargeList)
	add("a workflow that is canceled ends its steps and runs cleanup", caseAWorkflowThatIsCanceled)
	add("a workflow that takes too long ends its steps and runs cleanup", caseAWorkflowThatTakesTooLong)
	add("a workflow that is retried keeps its successes, and can begin at a step with another input", caseAWorkflowThatIsRetried)
	add("a workflow sleeps and waits for signals, early, twice and never", caseAWorkflowWaits)
	add("a matrix runs a job for each combination of its lists", caseAMatrixRunsAJobForEachCombination)
	add("an approval keeps who and why, and a rejection fails its step", caseAnApproval)
	add("a workflow may be a step, but not of itself, and ends with it", caseAWorkflowMayBeAStep)
	add("a workflow that is edited or whose task is deleted ends as it began", caseAWorkflowEditedUnderWay)
	add("a workflow is checked as a whole when it is saved", caseAWorkflowIsChecked)
	add("runs of workflows go with their jobs, and steps are not retried alone", caseRunsOfWorkflowsGo)
}

func caseAWorkflowRunsItsSteps(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a"), step("two", "b", "one"), step("three", "c", "one"), step("join", "d", "two", "three")}})
	j := f.run("w", "")
	b.wantState(j.ID, job.Waiting)
	want(b, "order", f.works(nil), "a b+c d")
	b.wantState(j.ID, job.Succeeded)
	want(b, "output", string(b.job(j.ID).Output), `{"ok":4,"failed":0,"skipped":0}`)
	want(b, "jobs", b.count(`select count(*) from belfry.jobs_done where trigger = 'step'`), 4)
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
	// With one job at a time, the join waits for both.
	k := f.run("w", "")
	for range 3 {
		f.finish(f.session, f.claim(f.session, 1).Jobs[0], job.OutcomeOK)
	}
	want(b, "states", f.states(k.ID), "one ok, two ok, three ok, join running")
	f.finish(f.session, f.claim(f.session, 1).Jobs[0], job.OutcomeOK)
	b.wantState(k.ID, job.Succeeded)
}

func caseAWorkflowHandsOutputsOn(b *bench) {
	f := newGraph(b, "w", task.Workflow{
		Steps: []task.Step{
			{Name: "load", Task: "a", Input: map[string]string{"id": "input.id"}},
			{Name: "big", Task: "b", Needs: []string{"load"}, When: "steps.load.output.total > 100", Input: map[string]string{"sum": "steps.load.output.total + 1", "text": `"of " + input.name`}},
			{Name: "small", Task: "c", Needs: []string{"load"}, When: "steps.load.output.total <= 100"},
			{Name: "join", Task: "d", Needs: []string{"big", "small"}, Input: map[string]string{"small": "steps.small.state", "none": "steps.small.output"}},
		},
		Output: map[string]string{"total": "steps.load.output.total"},
	})
	j := f.run("w", `{"id": 9007199254740993, "name": "x"}`)
	order := f.works(func(j job.Job, fin *job.Finish) {
		if j.Task == "a" {
			fin.Output = json.RawMessage(`{"total": 120}`)
		}
	})
	want(b, "order", order, "a b d")
	want(b, "inputs", strings.Join(f.ran, " "), `a{"id":9007199254740993} b{"sum":121,"text":"of x"} d{"none":null,"small":"skipped"}`)
	b.wantState(j.ID, job.Succeeded)
	want(b, "output", string(b.job(j.ID).Output), `{"total":120}`)
	// A missing output fails the step that reads it.
	k := f.run("w", `{"id": 1, "name": "x"}`)
	f.works(nil)
	if e := b.wantState(k.ID, job.Failed).Error; !strings.Contains(e, "big") {
		b.Fatalf("error of the job: got %q, want the missing output big", e)
	}
}

func caseAStepThatFails(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		step("one", "a"), step("two", "b", "one"), step("three", "c", "two"),
		{Name: "handler", Task: "d", Needs: []string{"one"}, When: "steps.one.state == 'failed'", Input: map[string]string{"error": "steps.one.error"}},
		{Name: "clean", Task: "e", Cleanup: true},
	}})
	j := f.run("w", "")
	want(b, "order", f.works(failing("a")), "a d e")
	want(b, "states", f.states(j.ID), "one failed, two skipped, three skipped, handler ok, clean ok")
	want(b, "error", b.wantState(j.ID, job.Failed).Error, "1 of 5 steps failed: one")
	want(b, "handled", f.ran[1], `d{"error":"no"}`)
	k := f.run("w", "")
	want(b, "order", f.works(nil), "a b c e")
	b.wantState(k.ID, job.Succeeded)
	g := newGraph(b, "lenient", task.Workflow{Steps: []task.Step{{Name: "one", Task: "a", OnFailure: task.FailureContinue}, step("two", "b", "one")}})
	l := g.run("lenient", "")
	want(b, "order", g.works(failing("a")), "a b")
	b.wantState(l.ID, job.Succeeded)
}

func caseAListRunsAJobForEachItem(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "fan", Task: "a", ForEach: "input", AtOnce: 2},
		{Name: "join", Task: "b", Needs: []string{"fan"}, Input: map[string]string{"all": "steps.fan.output"}},
	}})
	j := f.run("w", `[3, 4, 5, 6, 7]`)
	order := f.works(func(j job.Job, fin *job.Finish) { fin.Output = json.RawMessage(`{"got": ` + string(j.Input) + `}`) })
	want(b, "order", order, "a*2 a*2 a b")
	want(b, "join", f.ran[5], `b{"all":[{"got":3},{"got":4},{"got":5},{"got":6},{"got":7}]}`)
	b.wantState(j.ID, job.Succeeded)
	k := f.run("w", `[]`)
	want(b, "order", f.works(nil), "b")
	b.wantState(k.ID, job.Succeeded)
	ranged := newGraph(b, "ranged", task.Workflow{Steps: []task.Step{{Name: "fan", Task: "a", ForEach: "2..4"}}})
	ranged.run("ranged", "")
	ranged.works(nil)
	want(b, "work with a range of items", strings.Join(ranged.ran, " "), "a2 a3 a4")
	l := f.run("w", `{"no": "list"}`)
	f.works(nil)
	b.wantState(l.ID, job.Failed)
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", l.ID))(b).Run.Steps[0].Error, "for_each: is an object and not a list")
}

func caseALargeList(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "fan", Task: "a", ForEach: "input"}, step("join", "b", "fan")}})
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	j := f.enqueue(job.NewJob{Task: "w", Input: json.RawMessage(list(2500))})
	must(f.st.StartWorkflows(f.ctx))(f)
	want(b, "first piece", b.count(`select count(*) from belfry.jobs where trigger = 'step'`), workflow.Piece)
	f.works(nil)
	b.wantState(j.ID, job.Succeeded)
	want(b, "ran", len(f.ran), 2501)
	k := f.run("w", list(10001))
	b.wantState(k.ID, job.Failed)
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", k.ID))(b).Run.Steps[0].Error, "for_each: the list has 10001 items, the most is 10000: split it, or give each job several")
}

func caseAWorkflowThatIsCanceled(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		step("one", "a"), {Name: "fan", Task: "b", ForEach: "input"}, step("three", "c", "one"), {Name: "clean", Task: "e", Cleanup: true},
	}})
	j := f.run("w", `[1,2,3]`)
	running := f.claim(f.session, 2).Jobs
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}, Note: "enough"}))(b)
	b.wantState(j.ID, job.Waiting)
	f.engine()
	want(b, "asked", b.count(`select count(*) from belfry.running where cancel_at > 0`), 2)
	for _, r := range running {
		f.finish(f.session, r, job.OutcomeCanceled)
	}
	want(b, "order", f.works(nil), "e")
	want(b, "note", strings.Contains(b.wantState(j.ID, job.Canceled).Note, "enough"), true)
	want(b, "states", f.states(j.ID), "one canceled, fan canceled, three skipped, clean ok")
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseAWorkflowThatTakesTooLong(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a"), step("two", "b", "one"), {Name: "clean", Task: "e", Cleanup: true}}},
		func(t *task.Task) { t.Timeout = core.Duration(time.Minute) })
	j := f.run("w", "")
	f.clock.Move(2 * time.Minute)
	want(b, "order", f.works(nil), "e")
	b.wantState(j.ID, job.Failed)
	want(b, "error", b.job(j.ID).Error, "the workflow took longer than its timeout of 1m")
	want(b, "reason", string(b.job(j.ID).Reason), "timeout")
	// A cleanup without a worker ends too.
	k := f.run("w", "")
	f.clock.Move(2 * time.Minute)
	f.engine()
	f.clock.Move(2 * time.Hour)
	f.engine()
	b.wantState(k.ID, job.Failed)
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseAWorkflowThatIsRetried(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		step("one", "a"), {Name: "fan", Task: "b", Needs: []string{"one"}, ForEach: "input"}, step("three", "c", "fan"), {Name: "clean", Task: "e", Cleanup: true},
	}})
	j := f.run("w", `[1,2,3]`)
	f.works(func(j job.Job, fin *job.Finish) {
		if string(j.Input) == "2" {
			fin.Outcome = job.OutcomeError
		}
	})
	b.wantState(j.ID, job.Failed)
	f.ran = nil
	ok(b, retryRun(b, j.ID, workflow.Retrying{}))
	f.works(nil)
	want(b, "work of the new run", strings.Join(f.ran, " "), "b2 c e")
	b.wantState(j.ID, job.Succeeded)
	// A new run from a step, with another input.
	f.ran = nil
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{}), core.Conflict)
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{From: "nine"}), core.Invalid)
	ok(b, retryRun(b, j.ID, workflow.Retrying{From: "fan", Input: json.RawMessage(`[7]`)}))
	f.works(nil)
	want(b, "work of the new run", strings.Join(f.ran, " "), "b7 c e")
	b.wantState(j.ID, job.Succeeded)
	want(b, "retries", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Retries, 2)
	want(b, "input of the job", string(must(b.st.Job(b.ctx, "default", j.ID))(b).Input), "[7]")
	again := must(b.st.RunJobAgain(b.ctx, "default", j.ID, job.RunAgain{}))(b)
	want(b, "input of a new job of it", string(again.Job.Input), "[7]")
}

func caseAWorkflowWaits(b *bench) {
	month := core.Duration(30 * 24 * time.Hour)
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "pause", Sleep: month},
		{Name: "paid", Signal: "payment", Needs: []string{"pause"}, Timeout: core.Duration(time.Hour)},
		{Name: "ship", Task: "a", Needs: []string{"paid"}, Input: map[string]string{"amount": "steps.paid.output.amount"}},
		{Name: "again", Signal: "payment", Needs: []string{"ship"}, Timeout: core.Duration(time.Hour), OnFailure: task.FailureContinue},
	}}, func(t *task.Task) { t.Timeout = core.Duration(100 * 24 * time.Hour) })
	early := b.enqueue(job.NewJob{Task: "w"}).ID
	_, err := b.st.WorkflowRun(b.ctx, "default", early)
	wantCode(b, err, core.NotFound)
	want(b, "says", strings.Contains(err.Error(), "has not begun"), true)
	b.cancel(early)
	j := f.run("w", "")
	want(b, "work", f.works(nil), "")
	pay := workflow.Signal{Name: "payment", ID: "p1", Input: json.RawMessage(`{"amount": 5}`)}
	sent := must(b.st.SendSignal(b.ctx, "default", j.ID, pay))(b)
	want(b, "answer to an early signal", sent, workflow.Sent{})
	want(b, "twice", must(b.st.SendSignal(b.ctx, "default", j.ID, pay))(b), workflow.Sent{Existing: true})
	_, err = b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "nothing"})
	wantCode(b, err, core.Invalid)
	_, err = b.st.SendSignal(b.ctx, "other", j.ID, pay)
	wantCode(b, err, core.NotFound)
	f.clock.Move(month.D() - time.Minute)
	want(b, "work", f.works(nil), "")
	f.clock.Move(time.Minute)
	want(b, "work", f.works(nil), "a")
	want(b, "input", f.ran[0], `a{"amount":5}`)
	want(b, "states", f.states(j.ID), "pause ok, paid ok, ship ok, again waiting")
	f.clock.Move(time.Hour)
	f.engine()
	want(b, "states", f.states(j.ID), "pause ok, paid ok, ship ok, again failed")
	b.wantState(j.ID, job.Succeeded)
	_, err = b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment", ID: "p2"})
	wantCode(b, err, core.Conflict)
}

func caseAMatrixRunsAJobForEachCombination(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		step("list", "a"),
		{Name: "test", Task: "b", Needs: []string{"list"}, Matrix: map[string]string{"os": `["linux", "mac"]`, "go": "steps.list.output.versions"}},
		{Name: "named", Task: "c", Needs: []string{"test"}, Matrix: map[string]string{"x": "input.none", "y": "[1]"}, Input: map[string]string{"y": "item.y"}},
		{Name: "last", Task: "d", Needs: []string{"named"}, Input: map[string]string{"n": "len(steps.test.output)"}},
	}})
	j := f.run("w", `{"none": []}`)
	f.works(func(_ job.Job, fin *job.Finish) { fin.Output = json.RawMessage(`{"versions": [1, 2, 3]}`) })
	want(b, "jobs", strings.Join(f.ran, " "), `a b{"go":1,"os":"linux"} b{"go":1,"os":"mac"} b{"go":2,"os":"linux"} b{"go":2,"os":"mac"} b{"go":3,"os":"linux"} b{"go":3,"os":"mac"} d{"n":6}`)
	want(b, "states", f.states(j.ID), "list ok, test ok, named ok, last ok")
	b.wantState(j.ID, job.Succeeded)
	// So many are rejected before they are created.
	g := newGraph(b, "many", task.Workflow{Steps: []task.Step{{Name: "all", Task: "a", Matrix: map[string]string{"x": "1..101", "y": "1..101"}}}})
	k := g.run("many", "")
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", k.ID))(b).Run.Steps[0].Error, "matrix: there are 10201 combinations and more, the most is 10000")
	b.wantState(k.ID, job.Failed)
}

func caseAnApproval(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release to production?"}, step("ship", "a", "release")}})
	j := f.run("w", "")
	want(b, "taken", must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release", Note: "tests are green"}))(b).Taken, true)
	want(b, "work", f.works(nil), "a")
	b.wantState(j.ID, job.Succeeded)
	s := must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b)
	want(b, "note", s.Run.Steps[0].Note, "tests are green")
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'approve' and note like '%tests are green%'`), 1)
	k := f.run("w", "")
	must(b.st.SendSignal(b.ctx, "default", k.ID, workflow.Signal{Name: "release", Reject: true, Note: "no"}))(b)
	want(b, "work", f.works(nil), "")
	want(b, "states", f.states(k.ID), "release failed, ship skipped")
	b.wantState(k.ID, job.Failed)
}

func caseAWorkflowMayBeAStep(b *bench) {
	f := newGraph(b, "inner", task.Workflow{Steps: []task.Step{step("one", "a")}, Output: map[string]string{"x": "input.x * 2"}})
	g := newGraph(b, "outer", task.Workflow{Steps: []task.Step{
		{Name: "sub", Task: "inner", Input: map[string]string{"x": "input.x"}}, {Name: "after", Task: "b", Needs: []string{"sub"}, Input: map[string]string{"y": "steps.sub.output.x"}},
	}})
	j := g.run("outer", `{"x": 21}`)
	want(b, "order", g.works(nil), "a b")
	want(b, "input", g.ran[1], `b{"y":42}`)
	b.wantState(j.ID, job.Succeeded)
	k := g.run("outer", `{"x": 1}`)
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{k.ID}}))(b)
	g.engine()
	b.wantState(k.ID, job.Canceled)
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
	sub := must(b.st.WorkflowRun(b.ctx, "default", k.ID))(b).Run.Steps[0].JobID
	wantCode(b, retryRun(b, sub, workflow.Retrying{}), core.Conflict, fmt.Sprintf("is a step of run %d", k.ID), fmt.Sprintf("belfry workflow retry %d", k.ID))
	want(b, "next of a run in a run", must(b.st.Why(b.ctx, "default", sub))(b).Next, fmt.Sprintf("belfry workflow retry %d", k.ID))
	first := must(b.st.WorkflowRun(b.ctx, "default", sub))(b).Run.Steps[0].JobID
	want(b, "next of its step", must(b.st.Why(b.ctx, "default", first))(b).Next, fmt.Sprintf("belfry workflow retry %d", k.ID))
	inner := must(b.st.Task(b.ctx, "default", "inner"))(b)
	inner.Workflow.Steps = append(inner.Workflow.Steps, step("around", "outer"))
	_, err := b.st.UpdateTask(b.ctx, inner)
	wantCode(b, err, core.Invalid)
	wantCode(b, b.st.DeleteTask(b.ctx, "default", "inner"), core.Conflict)
	_ = f
}

func caseAWorkflowEditedUnderWay(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a"), step("two", "b", "one")}})
	j := f.run("w", "")
	t := must(b.st.Task(b.ctx, "default", "w"))(b)
	t.Workflow.Steps = []task.Step{step("other", "c")}
	must(b.st.UpdateTask(b.ctx, t))(b)
	ok(b, b.st.DeleteTask(b.ctx, "default", "b"))
	want(b, "order", f.works(nil), "a")
	want(b, "states", f.states(j.ID), "one ok, two failed")
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps[1].Error, `task "b" no longer exists`)
	b.wantState(j.ID, job.Failed)
}

func caseAWorkflowIsChecked(b *bench) {
	newGraph(b, "inner", task.Workflow{Steps: []task.Step{step("one", "a")}})
	for _, c := range []struct {
		steps []task.Step
		want  string
	}{
		{[]task.Step{step("one", "a", "two"), step("two", "a", "one")}, "need each other in a circle"},
		{[]task.Step{step("one", "a", "nine")}, "is not a step of this workflow"},
		{[]task.Step{step("one", "z")}, "is not a task in namespace default"},
		{[]task.Step{{Name: "one", Task: "a", When: "input ="}}, "workflow.steps[0].when"},
		{[]task.Step{step("one", "a"), {Name: "two", Task: "a", When: "steps.one.state == 'ok'"}}, "which is not among its needs"},
		{[]task.Step{step("one", "a"), {Name: "two", Task: "a", Needs: []string{"one"}, Input: map[string]string{"x": "steps.one.outputs"}}}, "which has output, state and error"},
		{[]task.Step{{Name: "one", Task: "a", ForEach: "steps"}}, "reads steps as a whole"},
		{[]task.Step{{Name: "one", Sleep: core.Duration(48 * time.Hour)}}, "is longer than the workflow's timeout"},
		{[]task.Step{{Name: "one", Task: "a", Sleep: core.Duration(time.Hour)}}, "cannot stand beside"},
		{[]task.Step{{Name: "one"}}, "is missing"},
		{[]task.Step{step("one", "a"), step("one", "a")}, "is in the list twice"},
		{[]task.Step{{Name: "one", Signal: "two"}, {Name: "two", Approval: "Well?"}}, "workflow.steps[0].signal \"two\": is the name of an approval"},
		{[]task.Step{step("one", "a"), {Name: "two", Task: "a", Needs: []string{"one"}, When: "$env.steps.one.state == 'ok'"}}, "reads $env: write input"},
		{[]task.Step{{Name: "one", Task: "a", When: "input.x == null"}}, "unknown name null: it is written nil"},
		{[]task.Step{{Name: "one", Task: "inner", MaxAttempts: 2}}, "workflow.steps[0].max_attempts \"2\": cannot be over 1 for a workflow"},
		{[]task.Step{{Name: "one", Task: "a", Input: map[string]string{"x": strings.Repeat("1+", 3000) + "1"}}}, "is over the limit of 4096 bytes"},
	} {
		_, err := b.st.CreateTask(b.ctx, task.Task{Name: "w", Workflow: &task.Workflow{Steps: c.steps}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			b.Fatalf("got error %v, want %s", err, c.want)
		}
		wantCode(b, err, core.Invalid)
	}
}

func caseRunsOfWorkflowsGo(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a")}})
	j := f.run("w", "")
	f.works(failing("a"))
	b.wantState(j.ID, job.Failed)
	id := must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps[0].JobID
	left := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{id}}))(b).Left
	want(b, "left", left[id], "it is a step: retry its workflow")
	dry := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{id, j.ID}, DryRun: true}))(b)
	want(b, "dry run", fmt.Sprint(dry.IDs, dry.Left), fmt.Sprint([]int64{j.ID}, left))
	want(b, "next of a step", must(b.st.Why(b.ctx, "default", id))(b).Next, fmt.Sprintf("belfry workflow retry %d", j.ID))
	// A retry of the job is a retry of the run.
	must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}}))(b)
	f.works(nil)
	b.wantState(j.ID, job.Succeeded)
	b.sql(`insert into belfry.links (secret_hash, job_id, name, expires_at) values ('x', $1, 'one', 1)`, j.ID)
	ok(b, b.st.Write(b.ctx, "forget", func(c *base.Change) error {
		_, err := c.Tx.Exec(b.ctx, `delete from belfry.jobs_done`)
		return err
	}))
	must(b.st.Prune(b.ctx))(b)
	for _, table := range []string{"workflow_runs", "workflow_items", "workflow_inputs", "links"} {
		want(b, table, b.count(`select count(*) from belfry.`+table), 0)
	}
}
