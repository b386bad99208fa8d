package history

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// taskDayRow holds the totals that a minute adds to a day of a task.
type taskDayRow struct {
	Day      int64 `json:"day"` // since 1970, of UTC
	TaskID   int64 `json:"task_id"`
	OK       int64 `json:"ok"`
	Failed   int64 `json:"failed"`
	Canceled int64 `json:"canceled"`
	Skipped  int64 `json:"skipped"`
	Ran      int64 `json:"ran"`
}

// TaskDays returns the totals of the jobs of tasks, day by day in UTC, up to the last roll-up.
func (s *Store) TaskDays(ctx context.Context, q view.TaskDaysQuery) (out view.TaskDaysFound, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	q = q.WithDefaults(now)
	if err := q.Validate(); err != nil {
		return out, err
	}
	var days []int64
	for d := q.From; !d.After(q.To); d = d.Add(base.OneDay) {
		days = append(days, d.Unix()/86400)
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		out = view.TaskDaysFound{Items: []view.TaskDays{}}
		m, err := s.JobMark(ctx, tx)
		if err != nil {
			return err
		}
		if m.after > 0 { // tasks are written with the first part of a minute
			m.Minute++
		}
		if m.Minute > 0 {
			out.Until = time.Unix(m.Minute*60, 0).UTC()
		}
		at, err := s.tasksNamed(ctx, tx, q, &out)
		if err != nil || len(at) == 0 {
			return err
		}
		ids := make([]int64, 0, len(at))
		for id := range at {
			ids = append(ids, id)
		}
		_, err = base.Collect(ctx, tx, func(r base.Rows) (d view.DayTotals, err error) {
			var id, day, ran int64
			err = r.Scan(&id, &day, &d.OK, &d.Failed, &d.Canceled, &d.Skipped, &ran)
			if i, found := at[id]; found && err == nil {
				d.Day, d.Ran = time.Unix(day*86400, 0).UTC(), InMicros(ran)
				out.Items[i].Days = append(out.Items[i].Days, d)
			}
			return d, err
		}, `
			select task_id, day, ok, failed, canceled, skipped, ran
			from belfry.task_days
			where `+s.SQL.In("day", 1)+` and `+s.SQL.In("task_id", 2)+`
			order by day`, s.SQL.List(days), s.SQL.List(ids))
		return err
	})
	return out, err
}

// tasksNamed adds the tasks to an answer, and returns the index of each task in it.
func (s *Store) tasksNamed(ctx context.Context, tx base.Tx, q view.TaskDaysQuery, out *view.TaskDaysFound) (at map[int64]int, err error) {
	w := &base.Where{}
	w.Namespace("namespace", q.Namespace)
	at = map[int64]int{}
	_, err = base.Collect(ctx, tx, func(r base.Rows) (d view.TaskDays, err error) {
		var id int64
		if err = r.Scan(&id, &d.Namespace, &d.Task); err == nil {
			at[id] = len(out.Items)
			d.Days = []view.DayTotals{}
			out.Items = append(out.Items, d)
		}
		return d, err
	}, `
		select id, namespace, name
		from belfry.tasks
		where `+w.Sql()+` and `+s.SQL.In("name", len(w.Args)+1)+`
		order by namespace, name`, append(w.Args, s.SQL.List(q.Tasks))...)
	return at, err
}
