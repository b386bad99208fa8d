package interleave

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// beginStopped creates the initial state: a sequence that a failed job stopped, with two jobs that wait behind it.
func (w *world) beginStopped() {
	w.t.Helper()
	w.clear()
	_, err := w.watch.Exec(w.ctx, `delete from belfry.limit_jobs; delete from belfry.limit_keys; delete from belfry.limit_left`)
	w.must(err)
	w.clock.Move(2 * time.Hour)
	st := w.nodes[0]
	_, err = st.CreateTask(w.ctx, task.Task{Name: "t", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}, Sequence: &flow.Sequence{OnFailure: flow.SequenceStops}})
	w.must(err)
	w.session = w.open("one")
	w.jobs, w.leases = map[string]int64{}, map[string]int64{}
	for _, role := range []string{"failed", "next", "last"} {
		w.jobs[role] = w.enqueue(job.NewJob{})
	}
	got, err := st.Claim(w.ctx, job.ClaimRequest{Session: w.session, Want: map[string]int{"default": 3}})
	w.must(err)
	if len(got.Jobs) != 1 || got.Jobs[0].Job.ID != w.jobs["failed"] {
		w.t.Fatalf("got %d jobs of the sequence claimed, want the first", len(got.Jobs))
	}
	_, err = st.Finish(w.ctx, w.session, []job.Finish{{Ref: job.Ref{JobID: w.jobs["failed"], Lease: got.Lease}, Outcome: job.OutcomeError, Error: "no"}})
	w.must(err)
	w.other = w.open("two")
}

// sequenceRows selects rows of sequences, and the notes of their ended jobs.
const sequenceRows = flowRows + `
	union all
	select d.id, concat_ws(' ', 'note', d.note) from belfry.jobs_done d`

// stopped are the transitions for this state.
var stopped = []transition{
	{"resume the sequence", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		return st.ResumeSequence(ctx, "default", "t", "")
	}},
	{"retry the failed job", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		s, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{w.jobs["failed"]}})
		return len(s.IDs), err
	}},
	{"cancel the next job", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "next") }},
	{"enqueue", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k"}})
		return w.enqueued(es), err
	}},
	{"promote", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.Promote(ctx)
		return nil, err
	}},
}

func TestInterleavingsOfStoppedSequences(t *testing.T) {
	everyPair(t, stopped, func(w *world) { w.start, w.rest, w.more = w.beginStopped, w.restFlow, sequenceRows })
}
