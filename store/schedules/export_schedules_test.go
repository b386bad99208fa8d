package schedules

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// StartAtMarks makes the passes of [Store.FireDue] and Promote start at their marks from now on, or at the beginning.
func (s *Store) StartAtMarks(start bool) {
	for _, m := range []*base.DueMark{&s.due, &s.jobs.Limits().Delayed} {
		m.Mu.Lock()
		m.LookAgain = time.Time{}
		if start {
			m.LookAgain = time.Now().Add(time.Hour)
		}
		m.Mu.Unlock()
	}
}

// ForecastOf is [Store.Forecast] with a limit of rows.
func (s *Store) ForecastOf(ctx context.Context, a schedule.Ahead, rows int) (f schedule.Forecast, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return f, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		f, err = s.ForecastIn(ctx, tx, a.WithDefaults(now), rows)
		return err
	})
	return f, err
}

// SchedulesLooking is [Store.Schedules] with a limit of the rows that it looks at.
func (s *Store) SchedulesLooking(ctx context.Context, f schedule.Filter, look int) (core.Page[schedule.Schedule], error) {
	return s.schedules(ctx, f, look)
}
