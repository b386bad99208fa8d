package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a limit of a workflow lets in as many runs of a key as it says, which keep their places while they wait, and the next when one ends", workflowLimit)
	add("every end of a run of a limited workflow lets in the next, and a retry of it waits for room", workflowLimitEnds)
	add("workflows within workflows that are too deep are refused when they are saved", workflowDepth)
	add("a rate of a workflow lets runs begin evenly, however long they last", workflowRate)
	add("a signal to a run that waits for a limit is taken when it has begun", workflowLimitSignal)
	add("runs of limited workflows within limited workflows all end", workflowLimitsWithin)
	addNodes("nodes never have more runs of a workflow under way than its limit says", workflowLimitNodes)
}

// begun fails unless so many runs are in progress, and so many wait for a limit.
func (f *workflowBench) begun(runs, waiting int64) {
	f.Helper()
	f.engine()
	f.consistent()
	want(f, "runs under way", f.count(`select count(*) from belfry.jobs where kind = 'workflow' and state = 'waiting' and reason = ''`), runs)
	want(f, "runs that wait for a limit", f.count(`select count(*) from belfry.jobs where kind = 'workflow' and state = 'waiting' and reason = 'limit'`), waiting)
}

func workflowLimit(b *bench) {
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{
		{Name: "first", Task: "a"}, {Name: "rest", Sleep: core.Duration(time.Hour), Needs: []string{"first"}}, {Name: "paid", Signal: "paid", Needs: []string{"rest"}},
	}}, limited(flow.Limit{Key: "input.customer", Running: 1}))
	acme := f.run("order", `{"customer":"acme"}`)
	next, last := f.run("order", `{"customer":"acme"}`), f.run("order", `{"customer":"acme"}`)
	f.run("order", `{"customer":"other"}`)
	f.begun(2, 2)
	w := must(f.st.Why(f.ctx, "default", next.ID))(f)
	if text := fmt.Sprint(w.Summary, w.Checks); !strings.Contains(text, `limit 1 has room`) || !strings.Contains(text, `key "acme" of input.customer: 1 of 1 are ready or running, 0 wait before it`) {
		f.Fatalf("why of the run: got %s, want the key and the limit", text)
	}
	_, err := f.st.WorkflowRun(f.ctx, "default", next.ID)
	wantCode(f, err, core.NotFound, "has not begun", "belfry job why")
	f.works(nil)
	f.begun(2, 2)
	f.clock.Move(2 * time.Hour)
	f.begun(2, 2)
	must(f.st.SendSignal(f.ctx, "default", acme.ID, workflow.Signal{Name: "paid"}))(f)
	f.wantState(acme.ID, job.Succeeded)
	f.begun(2, 1)
	want(f, "reason of the next run", f.wantState(next.ID, job.Waiting).Reason, core.Reason(""))
	want(f, "reason of the last run", f.wantState(last.ID, job.Waiting).Reason, core.Reason("limit"))
	t := must(f.st.Task(f.ctx, "default", "order"))(f)
	t.Limits = nil
	must(f.st.UpdateTask(f.ctx, t))(f)
	f.promote()
	f.begun(3, 0)
}

func workflowLimitSignal(b *bench) {
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "paid", Signal: "payment"}}}, limited(flow.Limit{Running: 1}))
	first, next := f.run("order", ""), f.run("order", "")
	f.begun(1, 1)
	want(f, "to the next", must(f.st.SendSignal(f.ctx, "default", next.ID, workflow.Signal{Name: "payment"}))(f), workflow.Sent{})
	f.begun(1, 1)
	want(f, "to the first", must(f.st.SendSignal(f.ctx, "default", first.ID, workflow.Signal{Name: "payment"}))(f), workflow.Sent{Taken: true})
	f.wantState(first.ID, job.Succeeded)
	f.engine()
	f.wantState(next.ID, job.Succeeded)
}

func workflowLimitEnds(b *bench) {
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "only", Task: "a"}}}, limited(flow.Limit{Running: 1}))
	var runs []job.Job
	for range 6 {
		runs = append(runs, f.run("order", ""))
	}
	f.begun(1, 5)
	f.cancel(runs[1].ID) // this run waits
	f.wantState(runs[1].ID, job.Canceled)
	f.begun(1, 4)
	f.cancel(runs[0].ID) // this run is in progress
	f.works(nil)
	f.wantState(runs[0].ID, job.Canceled)
	for _, r := range runs[2:] {
		f.wantState(r.ID, job.Succeeded)
	}
	failing := f.run("order", "")
	after := f.run("order", "")
	f.engine()
	step := f.claim(f.session, 10).Jobs[0]
	f.finish(f.session, step, job.OutcomeError, func(fin *job.Finish) { fin.NoRetry = true })
	f.wantState(failing.ID, job.Failed)
	f.begun(1, 0)
	f.retry(failing.ID)
	f.promote()
	f.begun(1, 1)
	want(f, "the retry", f.wantState(failing.ID, job.Waiting).Reason, core.Reason("limit"))
	f.works(nil)
	f.wantState(after.ID, job.Succeeded)
	f.wantState(failing.ID, job.Succeeded)
	want(f, "places that are left", f.count(`select count(*) from belfry.limit_jobs`), 0)
}

func workflowDepth(b *bench) {
	b.task("a")
	workflow := func(name, of string) error {
		_, err := b.st.CreateTask(b.ctx, task.Task{Name: name, Workflow: &task.Workflow{Steps: []task.Step{{Name: "one", Task: "a"}, {Name: "in", Task: of}}}})
		return err
	}
	ok(b, workflow("w1", "a"))
	for i := 2; i <= task.MaxWorkflowDepth; i++ {
		ok(b, workflow(fmt.Sprint("w", i), fmt.Sprint("w", i-1)))
	}
	wantCode(b, workflow("w6", "w5"), core.Invalid, "steps[1].task", "more than 5 deep", "put steps of an inner workflow into the one around it")
	ok(b, workflow("beside", "w4"))
}

func workflowRate(b *bench) {
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "long", Signal: "never"}}}, limited(flow.Limit{Rate: "1/1m"}))
	for range 4 {
		f.run("order", "")
	}
	for i := range int64(4) {
		f.begun(i+1, 3-i)
		f.clock.Move(time.Minute)
		f.promote()
	}
}

func workflowLimitsWithin(b *bench) {
	f := newGraph(b, "inner", task.Workflow{Steps: []task.Step{{Name: "only", Task: "a"}}}, limited(flow.Limit{Running: 1}))
	must(f.st.CreateTask(f.ctx, task.Task{Name: "outer", Limits: []flow.Limit{{Running: 2}}, Workflow: &task.Workflow{Steps: []task.Step{
		{Name: "each", Task: "inner", ForEach: "[1, 2, 3]"}, {Name: "once", Task: "inner", Needs: []string{"each"}},
	}}}))(f)
	var runs []job.Job
	for range 4 {
		runs = append(runs, f.run("outer", ""))
	}
	f.begun(3, 7) // 2 of 4 outer runs, and 1 of their 6 inner runs
	f.works(nil)
	for _, r := range runs {
		f.wantState(r.ID, job.Succeeded)
	}
	want(f, "inner runs", f.count(`select count(*) from belfry.jobs_done where task = 'inner' and state = 'succeeded'`), 16)
	want(f, "places that are left", f.count(`select count(*) from belfry.limit_jobs`), 0)
	// A run that needs a place that it holds itself would never end.
	inner := must(f.st.Task(f.ctx, "default", "inner"))(f)
	inner.Workflow = &task.Workflow{Steps: []task.Step{{Name: "back", Task: "outer"}}}
	_, err := f.st.UpdateTask(f.ctx, inner)
	wantCode(f, err, core.Invalid, "is a workflow that has this one for a step")
	_, err = f.st.CreateTask(f.ctx, task.Task{Name: "row", Workflow: &task.Workflow{Steps: []task.Step{{Name: "s", Task: "a"}}}, Sequence: &flow.Sequence{}})
	wantCode(f, err, core.Invalid, "sequence", "cannot stand in a workflow")
}

func workflowLimitNodes(b *bench, nodes []*store.Store) {
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "only", Task: "a"}}}, limited(flow.Limit{Running: 3}))
	for range 12 {
		f.enqueue(job.NewJob{Task: "order"})
	}
	ended := int64(0)
	for range 100 {
		together(2*len(nodes), func(i int) { _, _ = nodes[i%len(nodes)].StartWorkflows(f.ctx) })
		if n := f.count(`select count(*) from belfry.jobs where kind = 'workflow' and state = 'waiting' and reason = ''`); n > 3 {
			f.Fatalf("runs in progress: got %d, want at most 3", n)
		}
		jobs := f.claim(f.session, 10).Jobs
		together(len(jobs), func(i int) {
			_, _ = nodes[i%len(nodes)].Finish(f.ctx, f.session.ID, []job.Finish{{Ref: refOf(jobs[i]), Outcome: job.OutcomeOK}})
		})
		f.consistent()
		f.clock.Move(time.Second)
		f.promote() // for jobs that another transaction was changing
		if ended = f.count(`select count(*) from belfry.jobs_done where task = 'order'`); ended == 12 {
			break
		}
	}
	want(f, "runs that have ended", ended, 12)
}
