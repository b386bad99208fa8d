package interleave

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// beginDebounced creates the initial state: a job that waits for its window, and a job whose window has ended but that is
// not ready yet.
func (w *world) beginDebounced() {
	w.t.Helper()
	w.clear()
	_, err := w.watch.Exec(w.ctx, `delete from belfry.debounced`)
	w.must(err)
	w.clock.Move(2 * time.Hour)
	st := w.nodes[0]
	_, err = st.CreateTask(w.ctx, task.Task{Name: "t", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}, Debounce: &flow.Debounce{Key: "input.k", Window: core.Duration(2 * late)}})
	w.must(err)
	w.jobs, w.leases = map[string]int64{}, map[string]int64{}
	w.jobs["due"] = w.enqueue(job.NewJob{Input: json.RawMessage(`{"k":"due"}`)})
	w.clock.Move(late)
	w.jobs["waits"] = w.enqueue(job.NewJob{Input: json.RawMessage(`{"k":"waits"}`)})
	w.clock.Move(late)
	w.session = w.open("one")
	w.other = w.open("two")
}

// debouncedRows selects rows of debounces, and the inputs of their jobs.
const debouncedRows = `
	union all
	select d.job_id, concat_ws(' ', 'joined', d.joined, j.input, j.due_at > (select max(renewed_at) from belfry.sessions)) from belfry.debounced d left join belfry.jobs j on j.id = d.job_id
	union all
	select k.job_id, concat_ws(' ', 'window', k.expires_at = j.due_at) from belfry.job_keys k left join belfry.jobs j on j.id = k.job_id`

func join(name string, inputs ...string) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		ns := make([]job.NewJob, len(inputs))
		for i, in := range inputs {
			ns[i] = job.NewJob{Task: "t", Input: json.RawMessage(in)}
		}
		es, err := st.Enqueue(ctx, ns)
		text := w.enqueued(es)
		for _, e := range es {
			text += fmt.Sprint(" ", e.Joined, " ", e.Reason, " ", string(e.Job.Input))
		}
		return text, err
	}}
}

// debounces are the transitions for this state.
var debounces = []transition{
	join("join", `{"k":"waits","n":1}`),
	join("join again", `{"k":"waits","n":2}`),
	join("join both ways", `{"k":"due","n":3}`, `{"k":"waits","n":3}`),
	join("join both ways round", `{"k":"waits","n":4}`, `{"k":"due","n":4}`),
	{"promote", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.Promote(ctx)
		return nil, err
	}},
	{"cancel who waits", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "waits") }},
	{"edit", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.UpdateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc, Debounce: &flow.Debounce{Key: "input.k", Window: core.Duration(time.Hour)}})
		return nil, err
	}},
}

func TestInterleavingsOfDebounces(t *testing.T) {
	everyPair(t, debounces, func(w *world) {
		w.start, w.more = w.beginDebounced, debouncedRows
		w.rest = func() {
			w.t.Helper()
			_, err := w.nodes[0].Promote(w.ctx)
			w.must(err)
		}
	})
}
