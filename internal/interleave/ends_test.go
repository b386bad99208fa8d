package interleave

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// beginEnds creates the initial state: runs of a workflow, of a nested workflow and of a cycle, each of which ends with the
// running job; a job that waits for a job that it has enqueued; and a failed run.
func (w *world) beginEnds() {
	w.t.Helper()
	w.clear()
	_, err := w.watch.Exec(w.ctx, `
		delete from belfry.workflow_runs; delete from belfry.workflow_items; delete from belfry.workflow_inputs; delete from belfry.workflow_signals;
		delete from belfry.limit_jobs; delete from belfry.limit_keys; delete from belfry.limit_left; delete from belfry.cycle_runs; delete from belfry.steps; delete from belfry.member_timing where task_id > 0`)
	w.must(err)
	w.clock.Move(w.clock.Now().Truncate(time.Hour).Add(2 * time.Hour).Sub(w.clock.Now())) // so that schedules fire equally often each time
	st := w.nodes[0]
	once := task.Retry{MaxAttempts: 1}
	for _, t := range []task.Task{
		{Name: "t", Kind: task.KindFunc, Retry: once},
		{Name: "k", Kind: task.KindFunc, Retry: once},
		{Name: "inner", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "only", Task: "t"}}}},
		{Name: "outer", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "within", Task: "inner"}, {Name: "beside", Task: "t"}}}},
		{Name: "line", Kind: task.KindFunc, Retry: once, Sequence: &flow.Sequence{Key: "input.k"}},
		{Name: "forth", Kind: task.KindWorkflow, Workflow: lines("a", "b")},
		{Name: "back", Kind: task.KindWorkflow, Workflow: lines("b", "a")},
		{Name: "pair", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "one", Task: "t"}, {Name: "two", Task: "t"}}}},
		{Name: "ring", Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{{Task: "inner"}}}},
		{Name: "a", Kind: task.KindFunc},
		{Name: "b", Kind: task.KindFunc},
		{Name: "round", Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{{Task: "k"}, hourly("a"), hourly("b")}}},
		{Name: "round-back", Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{hourly("b"), hourly("a")}}},
	} {
		_, err = st.CreateTask(w.ctx, t)
		w.must(err)
	}
	_, err = w.watch.Exec(w.ctx, `
		insert into belfry.member_timing (task_id, started_at, cycle_at, succeeded_at)
		select id, $1, $1, $1 from belfry.tasks where name in ('a', 'b')`, w.clock.Now().UnixMicro())
	w.must(err)
	w.session = w.open("one")
	w.jobs, w.leases = map[string]int64{}, map[string]int64{}
	for _, j := range []struct {
		role, task string
		then       []string
	}{
		{"ring", "ring", []string{"in ring"}}, {"pair", "pair", []string{"pair one", "pair two"}}, {"twin", "pair", []string{"twin one", "twin two"}}, {"failed", "inner", []string{"its only"}}, {"run", "inner", []string{"only"}}, {"outer", "outer", []string{"beside", "within"}},
		{"round", "round", []string{"member"}}, {"parent", "t", []string{"parent"}}, {"forth", "forth", []string{"first forth"}}, {"back", "back", []string{"first back"}},
	} {
		es, err := st.Enqueue(w.ctx, []job.NewJob{{Task: j.task}})
		w.must(err)
		w.jobs[j.role] = es[0].Job.ID
		w.goOn()
		for _, role := range j.then {
			w.take(role)
		}
		if j.role == "failed" {
			_, err := st.Finish(w.ctx, w.session, []job.Finish{{Ref: w.refOf("its only"), Outcome: job.OutcomeError, Error: "no"}})
			w.must(err)
		}
	}
	inner, err := st.WorkflowItems(w.ctx, "default", w.jobs["outer"], "within", core.Paging{})
	w.must(err)
	w.jobs["inner"] = inner.Items[0].JobID
	_, err = st.SaveStep(w.ctx, w.session, w.refOf("parent"), job.NewStep{Number: 1, Name: "ask", Kind: job.StepSpawn, Job: &job.NewJob{Task: "k"}})
	w.must(err)
	w.take("child")
	saved, err := st.SaveStep(w.ctx, w.session, w.refOf("parent"), job.NewStep{Number: 2, Name: "wait", Kind: job.StepAwait, Child: w.jobs["child"]})
	w.must(err)
	if saved.Stale {
		w.t.Fatal("the wait is not there")
	}
	_, err = st.Enqueue(w.ctx, []job.NewJob{{Task: "line", Input: json.RawMessage(`{"k":"a"}`)}, {Task: "line", Input: json.RawMessage(`{"k":"b"}`)}})
	w.must(err)
	w.take("line a")
	w.take("line b")
	for name, s := range map[string]schedule.Schedule{"ends": {Task: "inner", Overlap: schedule.OverlapCancelOther}, "waits": {Task: "t", Overlap: schedule.OverlapBufferOne}} {
		s.Name, s.Rules = name, []schedule.Rule{{Cron: "* * * * *"}}
		_, err = st.CreateSchedule(w.ctx, s)
		w.must(err)
	}
	w.clock.Move(time.Minute)
	_, err = st.FireDue(w.ctx)
	w.must(err)
	w.take("of waits")
	w.goOn()
	w.take("step of ends")
	w.clock.Move(time.Minute)
	w.other = w.open("two")
}

// hourly returns a member of a cycle with an interval of one hour.
func hourly(name string) task.Member { return task.Member{Task: name, Every: core.Duration(time.Hour)} }

// lines returns a workflow with steps in two sequences, one after the other.
func lines(keys ...string) *task.Workflow {
	steps := []task.Step{{Name: "first", Task: "t"}}
	for _, key := range keys {
		steps = append(steps, task.Step{Name: key, Task: "line", Input: map[string]string{"k": strconv.Quote(key)}, Needs: []string{"first"}})
	}
	return &task.Workflow{Steps: steps}
}

// take claims one job for the session, and gives it a role name.
func (w *world) take(role string) {
	w.t.Helper()
	ref := w.claim(w.nodes[0])
	w.jobs[role], w.leases[role] = ref.JobID, ref.Lease
}

func (w *world) refOf(role string) job.Ref {
	return job.Ref{JobID: w.jobs[role], Lease: w.leases[role]}
}

// goOn makes the passes of an engine.
func (w *world) goOn() {
	w.t.Helper()
	w.clock.Move(time.Second)
	st := w.nodes[0]
	for range 20 {
		p, err := st.Promote(w.ctx)
		w.must(err)
		s, err := st.StartWorkflows(w.ctx)
		w.must(err)
		k, err := st.WakeWorkflows(w.ctx)
		w.must(err)
		c, err := st.StartCycles(w.ctx)
		w.must(err)
		if p.Jobs+s.Jobs+k.Jobs+c.Jobs == 0 {
			return
		}
	}
}

// endRows selects rows of the consequences of ends.
const endRows = `
	union all
	select r.job_id, concat_ws(' ', 'step', s->>'name', s->>'state', s->>'begun', s->>'ok', s->>'failed', s->>'canceled', r.ended_at > 0)
	from belfry.workflow_runs r, jsonb_array_elements(r.doc::jsonb->'steps') s
	union all
	select i.run_id, concat_ws(' ', 'item', i.step, i.item, i.state, i.asked, i.ended_at > 0) from belfry.workflow_items i
	union all
	select r.job_id, concat_ws(' ', 'cycle', r.member_job > 0) from belfry.cycle_runs r
	union all
	select s.job_id, concat_ws(' ', 'step', s.number, s.ended_at > 0) from belfry.steps s
	union all
	select i.run_id, concat_ws(' ', 'in line', k.value, l.stage)
	from belfry.limit_jobs l join belfry.limit_keys k on k.id = l.key_id join belfry.workflow_items i on i.job_id = l.job_id`

func endOf(roles ...string) transition {
	name := "end of"
	for _, role := range roles {
		name += " " + role
	}
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		var fs []job.Finish
		for _, role := range roles {
			fs = append(fs, job.Finish{Ref: w.refOf(role), Outcome: job.OutcomeOK})
		}
		out, err := st.Finish(ctx, w.session, fs)
		all := ""
		for _, f := range out {
			all += strconv.FormatBool(f.Stale) + " " + string(f.State) + " "
		}
		return all, err
	}}
}

// endsOf returns a transition that ends one job with success and another with failure.
func endsOf(well, badly string) transition {
	return transition{"end of " + well + " and failure of " + badly, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		out, err := st.Finish(ctx, w.session, []job.Finish{{Ref: w.refOf(well), Outcome: job.OutcomeOK}, {Ref: w.refOf(badly), Outcome: job.OutcomeError, Error: "no"}})
		return len(out), err
	}}
}

func cancelOf(roles ...string) transition {
	name := "cancel of"
	for _, role := range roles {
		name += " " + role
	}
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		var ids []int64
		for _, role := range roles {
			ids = append(ids, w.jobs[role])
		}
		s, err := st.CancelJobs(ctx, "default", view.Selection{IDs: ids})
		return len(s.IDs), err
	}}
}

var resetTiming = transition{"reset of timings", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
	reset, err := st.ResetTiming(ctx, "default", "round-back")
	return reset, err
}}

var fire = transition{"fire", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
	_, err := st.FireDue(ctx)
	return nil, err
}}

// endPairs are pairs of an end and a transition that changes its consequences if it comes first.
var endPairs = [][2]transition{
	{endOf("only"), cancelOf("run")},
	{endOf("only"), cancelOf("run", "only")},
	{endOf("within"), cancelOf("outer", "inner")},
	{endOf("within"), endOf("beside")},
	{endOf("within", "beside"), cancelOf("outer", "inner")},
	{endOf("member"), cancelOf("round")},
	{endOf("member"), cancelOf("round", "member")},
	{endOf("child"), cancelOf("parent", "child")},
	{endOf("member", "pair one"), endOf("in ring", "pair two")},
	{endOf("first forth"), endOf("first back")},
	{endsOf("pair one", "twin one"), endsOf("twin two", "pair two")},
	{endsOf("member", "in ring"), cancelOf("ring")},
	{endOf("member"), resetTiming},
	{
		{"retry", func(ctx context.Context, w *world, st *store.Store) (any, error) {
			s, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{w.jobs["failed"]}})
			return len(s.IDs), err
		}},
		{"retry of a run", func(ctx context.Context, w *world, st *store.Store) (any, error) {
			_, err := st.RetryWorkflow(ctx, "default", w.jobs["failed"], workflow.Retrying{})
			return core.CodeOf(err), nil // there are two possible refusals
		}},
	},
}

func TestInterleavingsOfEndsAndCancels(t *testing.T) {
	pairsMeet(t, endPairs, func(w *world) { w.start, w.rest, w.more = w.beginEnds, w.goOn, endRows })
}

// A fire locks schedules before the earlier runs that it ends; an end locks runs before schedules. The fire may leave the
// schedule of a run that another transaction changes to a later pass, so the rows may differ from those of a serial order.
func TestInterleavingsOfAFireThatEndsRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start, w.rest, w.more = w.beginEnds, w.goOn, endRows
	pair := [2]transition{endOf("step of ends", "of waits"), fire}
	_, alone := w.serial(pair)
	w.vary(pair, alone, switches(t), func(o order, _ string, p played) bool {
		if p.deadlock {
			t.Errorf("order %v: they wait for each other\n%s", o, strings.Join(p.trace, "\n"))
		}
		return true
	})
}
