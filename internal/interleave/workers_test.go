package interleave

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// beginWorkers creates the initial state: no tasks and no workers.
func (w *world) beginWorkers() {
	w.t.Helper()
	w.clear()
	w.clock.Move(2 * time.Hour)
	w.jobs = map[string]int64{}
}

func register(name string, funcs ...string) transition {
	return transition{name, func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		s, err := st.OpenSession(ctx, job.WorkerInfo{Name: name, Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 1}})
		return s.Queues, err
	}}
}

// registering are transitions that make the tasks of handlers.
var registering = []transition{
	register("a worker with handlers a and b", "a", "b"),
	register("a worker with handlers b and a", "b", "a"),
	{"enqueue jobs of b and a", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, []job.NewJob{{Task: "b", Kind: task.KindFunc}, {Task: "a", Kind: task.KindFunc}})
		return len(es), err
	}},
}

func TestInterleavingsOfWorkersThatRegister(t *testing.T) {
	everyPair(t, registering, func(w *world) {
		w.start, w.more = w.beginWorkers, `
	union all
	select id, concat_ws(' ', 'task', name, kind) from belfry.tasks
	union all
	select 0, concat_ws(' ', 'session', name) from belfry.sessions`
	})
}
