package schedules

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// askedOf returns a job of a schedule with the fields that its queue needs for admission.
func askedOf(row ScheduleRow, t task.Task) *job.Job {
	return &job.Job{Trigger: job.TriggerSchedule, Namespace: row.Namespace, Queue: t.Queue, Priority: t.Priority, Kind: t.Kind}
}

// capacityFor sets the number of a schedule's jobs for which there is room, up to want. A full queue that drops its oldest
// jobs has room if it may drop jobs for the new ones.
func capacityFor(c *Change, row ScheduleRow, t task.Task, want int, drop bool, f *schedule.Facts) (err error) {
	if f.Room, f.Full, f.Limited, err = c.s.quotas.In(c.Change).Room(row.Namespace, want); err != nil {
		return err
	}
	left, full, limited, err := c.s.bounds.In(c.Change).Room(askedOf(row, t), want, drop)
	if err == nil && limited && (!f.Limited || left < f.Room) {
		f.Room, f.Full, f.Limited, f.Why = left, full, true, schedule.ReasonQueueFull
	}
	return err
}

// take counts the admitted jobs against their quota and queue. DropPicked drops the jobs that make room in full queues.
func take(c *Change, row ScheduleRow, t task.Task, jobs int) error {
	if jobs == 0 {
		return nil
	}
	if err := c.s.quotas.In(c.Change).Take(row.Namespace, jobs); err != nil {
		return err
	}
	return c.s.bounds.In(c.Change).Take(askedOf(row, t), jobs)
}

// tasksOf returns the existing tasks of schedules with their kinds and queues, and their priorities if the queue is bounded.
func (c *Change) tasksOf(rows []ScheduleRow) (map[int64]task.Task, error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.TaskID
	}
	found, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (t task.Task, err error) {
		return t, r.Scan(&t.ID, &t.Queue, &t.Kind)
	}, `select id, queue, kind from belfry.tasks where `+c.SQL.In("id", 1), c.SQL.List(base.Unique(ids)))
	if err != nil {
		return nil, err
	}
	there := make(map[int64]task.Task, len(found))
	var queues []string
	for _, t := range found {
		there[t.ID] = t
		queues = append(queues, t.Queue)
	}
	bounded, err := c.s.bounds.In(c.Change).Of(base.Unique(queues))
	if err != nil {
		return nil, err
	}
	var whole []int64
	for _, t := range found {
		if bounded[t.Queue].Bounded() {
			whole = append(whole, t.ID)
		}
	}
	if len(whole) == 0 {
		return there, nil
	}
	tasks, err := c.tasks().TasksByID(whole)
	for id, t := range tasks {
		there[id] = t
	}
	return there, err
}
