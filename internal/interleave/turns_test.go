package interleave

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// fork is a workflow whose second step waits in a fair queue under the key of the run.
var fork = task.Workflow{Steps: []task.Step{
	{Name: "first", Task: "line"},
	{Name: "second", Task: "t", Needs: []string{"first"}, Input: map[string]string{"k": "input.k"}},
}}

// beginTurns creates the initial state: two due jobs of a fair queue, one of them under a limit; two running jobs under the
// limit with active keys, and a job that waits for each; and four runs of workflows whose first steps run.
func (w *world) beginTurns() {
	w.t.Helper()
	w.clear()
	_, err := w.watch.Exec(w.ctx, `
		delete from belfry.limit_jobs; delete from belfry.limit_keys; delete from belfry.turn_keys;
		delete from belfry.workflow_runs; delete from belfry.workflow_items; delete from belfry.workflow_inputs; delete from belfry.workflow_signals`)
	w.must(err)
	w.clock.Move(2 * time.Hour)
	st := w.nodes[0]
	_, err = st.SaveQueue(w.ctx, job.Queue{Name: "flow"})
	w.must(err)
	_, err = st.SaveQueue(w.ctx, job.Queue{Name: "fair", Fair: &flow.Fair{Key: "input.k"}})
	w.must(err)
	limited := keyed(1)
	limited.Queue = "fair"
	for _, t := range []task.Task{
		limited,
		{Name: "line", Kind: task.KindFunc, Queue: "flow", Retry: task.Retry{MaxAttempts: 1}},
		{Name: "t", Kind: task.KindFunc, Queue: "fair", Retry: task.Retry{MaxAttempts: 1}},
		{Name: "fork", Kind: task.KindWorkflow, Workflow: &fork},
	} {
		_, err = st.CreateTask(w.ctx, t)
		w.must(err)
	}
	w.session = w.openFor("one", "flow", "fair")
	w.jobs, w.leases = map[string]int64{}, map[string]int64{}
	for _, k := range []string{"a", "b"} {
		es, err := st.Enqueue(w.ctx, []job.NewJob{{Task: "k", Input: json.RawMessage(fmt.Sprintf(`{"k":%q}`, k)), ActiveKey: "held by " + k}})
		w.must(err)
		got, err := st.Claim(w.ctx, job.ClaimRequest{Session: w.session, Want: map[string]int{"fair": 1}})
		w.must(err)
		w.jobs["runs "+k], w.leases["runs "+k] = es[0].Job.ID, got.Lease
		es, err = st.Enqueue(w.ctx, []job.NewJob{of("k", fmt.Sprintf(`{"k":%q}`, k), "")})
		w.must(err)
		w.jobs["waits "+k] = es[0].Job.ID
	}
	for i, k := range []string{"b", "a", "a", "b"} {
		es, err := st.Enqueue(w.ctx, []job.NewJob{of("fork", fmt.Sprintf(`{"k":%q}`, k), "")})
		w.must(err)
		_, err = st.StartWorkflows(w.ctx)
		w.must(err)
		got, err := st.Claim(w.ctx, job.ClaimRequest{Session: w.session, Want: map[string]int{"flow": 1}})
		w.must(err)
		role := fmt.Sprint("first step ", i)
		w.jobs[fmt.Sprint("run ", i)], w.jobs[role], w.leases[role] = es[0].Job.ID, got.Jobs[0].Job.ID, got.Lease
	}
	due := w.clock.Now().Add(late)
	es, err := st.Enqueue(w.ctx, []job.NewJob{
		{Task: "t", Input: json.RawMessage(`{"k":"a"}`), DueAt: due}, {Task: "k", Input: json.RawMessage(`{"k":"b"}`), DueAt: due},
	})
	w.must(err)
	w.jobs["due"], w.jobs["due under a limit"] = es[0].Job.ID, es[1].Job.ID
	w.clock.Move(2 * late)
	w.other = w.openFor("two", "flow")
}

func enqueueAll(name string, ns ...job.NewJob) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, ns)
		return w.enqueued(es), err
	}}
}

// settleBoth returns a transition that ends two jobs.
func settleBoth(name string, steps ...string) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		var fs []job.Finish
		for _, role := range steps {
			fs = append(fs, job.Finish{Ref: job.Ref{JobID: w.jobs[role], Lease: w.leases[role]}, Outcome: job.OutcomeOK})
		}
		_, err := st.Finish(ctx, w.session, fs)
		return nil, err
	}}
}

func of(task, input, active string) job.NewJob {
	return job.NewJob{Task: task, Input: json.RawMessage(input), ActiveKey: active}
}

// turning are the transitions for this state.
var turning = []transition{
	{"promote", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.Promote(ctx)
		return nil, err
	}},
	enqueueAll("enqueue both", of("t", `{"k":"a"}`, ""), of("k", `{"k":"b"}`, "")),
	enqueueAll("enqueue under the active key", of("k", `{"k":"a"}`, ""), of("t", `{"k":"a"}`, "held by a")),
	settleBoth("settle two runs", "first step 0", "first step 1"),
	settleBoth("settle two others", "first step 2", "first step 3"),
	settleBoth("settle a run, and let in under a limit", "first step 0", "runs a"),
	settleBoth("settle another, and let in under another", "first step 2", "runs b"),
	finishOf("succeed", "runs a", job.Finish{Outcome: job.OutcomeOK}),
	finishOf("fail for now", "runs a", job.Finish{Outcome: job.OutcomeError, Error: "no"}),
	{"cancel what runs", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "runs a") }},
}

func TestInterleavingsOfTurns(t *testing.T) {
	everyPair(t, turning, func(w *world) { w.start, w.rest, w.more = w.beginTurns, w.restFlow, flowRows })
}
