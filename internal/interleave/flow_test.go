package interleave

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// keyed returns a task with a limit by key.
func keyed(running int) task.Task {
	t := task.Task{Name: "k", Kind: task.KindFunc, Queue: "flow", Retry: task.Retry{MaxAttempts: 3, Delay: core.Duration(time.Hour), Backoff: task.BackoffFixed}}
	if running > 0 {
		t.Limits = []flow.Limit{{Key: "input.k", Running: running}}
	}
	return t
}

// graph has steps that begin after the first one, two of them under the limit, and others after a signal and an approval.
var graph = task.Workflow{Steps: []task.Step{
	{Name: "first", Task: "t"},
	{Name: "each", Task: "k", Needs: []string{"first"}, ForEach: "[1, 2]", Input: map[string]string{"k": `"a"`}},
	{Name: "word", Signal: "go"},
	{Name: "gate", Approval: "well?"},
	{Name: "after", Task: "t", Needs: []string{"word", "gate"}},
	{Name: "clean", Task: "t", Cleanup: true},
}}

// beginFlow creates the initial state: a run of a workflow whose first step runs, a stopped run, a run that has not begun, a
// running job under a limit with two waiting jobs, and the same for a sequence. One of the two has a higher priority, with
// which the other is level by ageing.
func (w *world) beginFlow() {
	w.t.Helper()
	w.clear()
	_, err := w.watch.Exec(w.ctx, `
		delete from belfry.limit_jobs; delete from belfry.limit_keys; delete from belfry.limit_left;
		delete from belfry.workflow_runs; delete from belfry.workflow_items; delete from belfry.workflow_inputs; delete from belfry.workflow_signals`)
	w.must(err)
	w.clock.Move(2 * time.Hour)
	st := w.nodes[0]
	_, err = st.SaveQueue(w.ctx, job.Queue{Name: "flow", Ageing: job.MinAgeing})
	w.must(err)
	for _, t := range []task.Task{
		{Name: "t", Kind: task.KindFunc, Queue: "flow", Retry: task.Retry{MaxAttempts: 1}},
		{Name: "line", Kind: task.KindFunc, Queue: "flow", Retry: task.Retry{MaxAttempts: 1}, Sequence: &flow.Sequence{}},
		keyed(1),
		{Name: "graph", Kind: task.KindWorkflow, Workflow: &graph},
	} {
		_, err = st.CreateTask(w.ctx, t)
		w.must(err)
	}
	w.session = w.openFor("one", "flow")
	w.jobs = map[string]int64{}
	w.leases = map[string]int64{}
	for _, j := range []struct{ role, task, then string }{
		{"run", "graph", "first"}, {"stopped", "graph", "its first"}, {"kept", "k", "kept"}, {"held", "k", ""}, {"line1", "line", "line1"}, {"line2", "line", ""},
	} {
		es, err := st.Enqueue(w.ctx, []job.NewJob{{Task: j.task, Input: json.RawMessage(`{"k":"a"}`)}})
		w.must(err)
		w.jobs[j.role] = es[0].Job.ID
		if j.task == "graph" {
			_, err = st.StartWorkflows(w.ctx)
			w.must(err)
		}
		if j.then == "" {
			continue
		}
		got, err := st.Claim(w.ctx, job.ClaimRequest{Session: w.session, Want: map[string]int{"flow": 1}})
		w.must(err)
		if len(got.Jobs) != 1 {
			w.t.Fatalf("%d jobs claimed for %s", len(got.Jobs), j.role)
		}
		w.jobs[j.then], w.leases[j.then] = got.Jobs[0].Job.ID, got.Lease
	}
	_, err = w.cancel(w.ctx, st, "stopped")
	w.must(err)
	es, err := st.Enqueue(w.ctx, []job.NewJob{{Task: "graph"}, {Task: "t"}})
	w.must(err)
	w.jobs["second run"], w.jobs["ready"] = es[0].Job.ID, es[1].Job.ID
	es, err = st.Enqueue(w.ctx, []job.NewJob{{Task: "k", Input: json.RawMessage(`{"k":"a"}`), Priority: new(5)}})
	w.must(err)
	w.jobs["held urgently"] = es[0].Job.ID
	w.clock.Move(late)
	w.other = w.openFor("two", "flow")
}

// restFlow makes the passes of an engine after both transitions: it admits jobs that were not admitted because the other
// transition had locked a key.
func (w *world) restFlow() {
	w.t.Helper()
	w.clock.Move(time.Second)
	st := w.nodes[0]
	_, err := st.AgeJobs(w.ctx) // jobs that the other transition was changing
	w.must(err)
	for range 20 {
		p, err := st.Promote(w.ctx)
		w.must(err)
		s, err := st.StartWorkflows(w.ctx)
		w.must(err)
		k, err := st.WakeWorkflows(w.ctx)
		w.must(err)
		if p.Jobs+s.Jobs+k.Jobs == 0 {
			return
		}
	}
}

// flowRows selects rows of limits and workflows.
const flowRows = `
	union all
	select j.job_id, concat_ws(' ', 'under', k.name, k.value, 'stage', j.stage) from belfry.limit_jobs j join belfry.limit_keys k on k.id = j.key_id
	union all
	select k.stopped_by, concat_ws(' ', 'stops', k.name, k.value) from belfry.limit_keys k where k.stopped_by > 0
	union all
	select r.job_id, concat_ws(' ', 'step', s->>'name', s->>'state', s->>'begun', s->>'ok', s->>'failed', s->>'canceled', r.ended_at > 0)
	from belfry.workflow_runs r, jsonb_array_elements(r.doc::jsonb->'steps') s
	union all
	select i.run_id, concat_ws(' ', 'item', i.step, i.item, i.state, i.asked, i.ended_at > 0) from belfry.workflow_items i
	union all
	select s.run_id, concat_ws(' ', 'signal', s.name, s.step) from belfry.workflow_signals s`

// flows are the transitions for this state.
var flows = []transition{
	signal("signal", "run", workflow.Signal{Name: "go", ID: "1"}),
	signal("approve", "run", workflow.Signal{Name: "gate", ID: "1"}),
	finishOf("settle that starts steps", "first", job.Finish{Outcome: job.OutcomeOK}),
	finishOf("settle that fails a step", "first", job.Finish{Outcome: job.OutcomeError, Error: "no"}),
	{"cancel run", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "run") }},
	{"cancel a run that stops", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "stopped") }},
	{"start workflows", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.StartWorkflows(ctx)
		return nil, err // it skips a job that the other has locked: the rows show the result
	}},
	{"wake workflows", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.WakeWorkflows(ctx)
		return nil, err // it counts due jobs, some of which the other may have taken: the rows show the result
	}},
	edit("raise limit", 2),
	edit("drop limit", 0),
	{"enqueue under a limit", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, []job.NewJob{{Task: "k", Input: json.RawMessage(`{"k":"a"}`), Key: "k"}})
		return w.enqueued(es), err
	}},
	finishOf("succeed under a limit", "kept", job.Finish{Outcome: job.OutcomeOK}),
	finishOf("fail under a limit", "kept", job.Finish{Outcome: job.OutcomeError, Error: "no"}),
	finishOf("fail in a sequence", "line1", job.Finish{Outcome: job.OutcomeError, Error: "no"}),
	{"cancel who waits for a limit", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "held") }},
	{"claim", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		got, err := st.Claim(ctx, job.ClaimRequest{Session: w.other, Want: map[string]int{"flow": 10}})
		var roles []string
		for _, j := range got.Jobs {
			roles = append(roles, w.role(j.Job.ID)+" "+j.Job.Task)
		}
		slices.Sort(roles)
		return roles, err
	}},
	{"release lost", func(ctx context.Context, _ *world, st *store.Store) (any, error) { return st.ReleaseLost(ctx) }},
	{"promote", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.Promote(ctx)
		return nil, err // the rows show which jobs it admits
	}},
	{"age", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.AgeJobs(ctx)
		return nil, err
	}},
	{"cancel all that runs", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		s, err := st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{w.jobs["first"], w.jobs["kept"], w.jobs["line1"]}})
		return len(s.IDs), err
	}},
}

// beginnings are the transitions for a run that has not begun.
var beginnings = []transition{
	signal("signal before the begin", "second run", workflow.Signal{Name: "go", ID: "1"}),
	{"cancel before the begin", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		return w.cancel(ctx, st, "second run")
	}},
	named(flows, "start workflows"),
}

func named(all []transition, name string) transition {
	return all[slices.IndexFunc(all, func(tr transition) bool { return tr.name == name })]
}

func signal(name, role string, s workflow.Signal) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		out, err := st.SendSignal(ctx, "default", w.jobs[role], s)
		return fmt.Sprint(out.Existing, out.Taken), err
	}}
}

func edit(name string, running int) transition {
	return transition{name, func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.UpdateTask(ctx, keyed(running))
		return nil, err
	}}
}

func finishOf(name, role string, f job.Finish) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		f := f
		f.Ref = job.Ref{JobID: w.jobs[role], Lease: w.leases[role]}
		out, err := st.Finish(ctx, w.session, []job.Finish{f})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(out[0].Stale, out[0].State), nil
	}}
}

func TestInterleavingsOfFlows(t *testing.T) { everyPair(t, flows, (*world).flowing) }

func TestInterleavingsOfBeginnings(t *testing.T) { everyPair(t, beginnings, (*world).flowing) }

// These two transitions suffice to find that runs are not locked before their items.
func TestInterleavingsOfACancelAndASettle(t *testing.T) {
	few := slices.DeleteFunc(slices.Clone(flows), func(tr transition) bool { return tr.name != "cancel run" && tr.name != "settle that starts steps" })
	everyPair(t, few, (*world).flowing)
}

// flowing prepares pairs for the state of beginFlow.
func (w *world) flowing() { w.start, w.rest, w.more = w.beginFlow, w.restFlow, flowRows }
