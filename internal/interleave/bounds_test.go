package interleave

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// beginFull creates the initial state: a full queue whose oldest jobs are of two schedules, which are due again and create
// another job when theirs has ended.
func (w *world) beginFull() {
	w.t.Helper()
	w.clear()
	w.clock.Move(2*time.Hour - late) // on the minute
	st := w.nodes[0]
	_, err := st.SaveQueue(w.ctx, job.Queue{Name: "full", MaxWaiting: 2, OnFull: job.OnFullDropOldest})
	w.must(err)
	_, err = st.CreateTask(w.ctx, task.Task{Name: "t", Kind: task.KindFunc, Queue: "full", Retry: task.Retry{MaxAttempts: 1}})
	w.must(err)
	for _, name := range []string{"s", "u"} {
		_, err = st.CreateSchedule(w.ctx, schedule.Schedule{Name: name, Task: "t", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Overlap: schedule.OverlapBufferOne})
		w.must(err)
	}
	w.clock.Move(time.Minute)
	_, err = st.FireDue(w.ctx)
	w.must(err)
	w.session = w.openFor("one", "full")
	w.jobs, w.leases = map[string]int64{}, map[string]int64{}
	page, err := st.Jobs(w.ctx, job.Filter{Namespace: "default", Paging: core.Paging{Limit: 10}})
	w.must(err)
	for _, j := range page.Items {
		w.jobs["of "+j.Schedule] = j.ID
	}
	w.clock.Move(time.Minute)
}

// overflowing are the transitions for this state.
var overflowing = []transition{
	{"fire", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.FireDue(ctx)
		return nil, err
	}},
	enqueueAll("enqueue one", job.NewJob{Task: "t"}),
	enqueueAll("enqueue two", job.NewJob{Task: "t"}, job.NewJob{Task: "t"}),
	{"pause", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.PauseSchedule(ctx, "default", "u", "")
		return nil, err
	}},
	{"resume", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.ResumeSchedule(ctx, "default", "u", false)
		return nil, err
	}},
	{"edit", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		_, err := st.UpdateSchedule(ctx, schedule.Schedule{Name: "u", Task: "t", Rules: []schedule.Rule{{Cron: "*/2 * * * *"}}, Overlap: schedule.OverlapBufferOne})
		return nil, err
	}},
	{"delete", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		return nil, st.DeleteSchedule(ctx, "default", "u")
	}},
	{"cancel one", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		_, err := w.cancel(ctx, st, "of u")
		return nil, err
	}},
}

func TestInterleavingsOfFullQueues(t *testing.T) {
	everyPair(t, overflowing, func(w *world) {
		w.start, w.more = w.beginFull, ``
		w.rest = func() { // a schedule that the other transition had locked is fired in the next pass
			w.t.Helper()
			_, err := w.nodes[0].FireDue(w.ctx)
			w.must(err)
		}
	})
}
