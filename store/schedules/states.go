package schedules

import (
	"time"

	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// stateRow is the changing part of a schedule in a batch.
type stateRow struct {
	ID        int64  `json:"id"`
	State     string `json:"state"`
	NextAt    int64  `json:"next_at"`
	HighWater int64  `json:"high_water"`
	FinishAt  int64  `json:"finish_at"`
	Runs      int64  `json:"runs"`
}

// SaveStates saves the new states of schedules. A schedule that has not changed is not written.
func (c *Change) SaveStates(all []Decided) error {
	var rows []stateRow
	for _, d := range all {
		if sooner(d.Out.NextAt, d.Row.NextAt) {
			c.wakeAt(d.Out.NextAt)
		}
		before := stateRow{d.Row.ID, string(d.Row.State), base.Micros(d.Row.NextAt), base.Micros(d.Row.HighWater), base.Micros(d.Row.FinishAt), d.Row.Runs}
		after := stateRow{d.Row.ID, string(d.Out.State), base.Micros(d.Out.NextAt), base.Micros(d.Out.HighWater), base.Micros(d.Out.FinishAt), d.Out.Runs}
		if before != after {
			rows = append(rows, after)
		}
		if d.Out.State == schedule.Completed && d.Row.State != schedule.Completed {
			if err := c.s.Hooks.Changed(c, d.Row.Schedule, hook.ScheduleCompleted); err != nil {
				return err
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.schedules
		set state = t.state, next_at = t.next_at, high_water = t.high_water, finish_at = t.finish_at, runs = t.runs
		from `+from+`
		where belfry.schedules.id = t.id and `+c.SQL.Among("belfry.schedules.id", 1), append([]any{c.SQL.List(ids)}, args...)...)
	return err
}

// sooner reports that an engine that sleeps until old would oversleep next. A later time needs no wake-up: an engine that wakes
// at the old time finds nothing due.
func sooner(next, old time.Time) bool {
	return !next.IsZero() && (old.IsZero() || next.Before(old))
}

// wakeAt tells engines that a schedule is due at an instant.
func (c *Change) wakeAt(next time.Time) {
	c.Wake(base.TopicEngine)
	c.After(func() { c.s.Due.Lower(next) })
}
