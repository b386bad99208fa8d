package store

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// LooksAreDear makes passes of [Store.FireDue] and [Store.Promote] begin at
// their marks from now on, or look everywhere.
func (s *Store) LooksAreDear(dear bool) {
	for _, m := range []*dueMark{&s.due, &s.delayed} {
		m.mu.Lock()
		m.lookAgain = time.Time{}
		if dear {
			m.lookAgain = time.Now().Add(time.Hour)
		}
		m.mu.Unlock()
	}
}

// ForecastOf is [Store.Forecast] that looks at so many schedules.
func (s *Store) ForecastOf(ctx context.Context, a schedule.Ahead, rows int) (f schedule.Forecast, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return f, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		f, err = s.forecast(ctx, tx, a.WithDefaults(now), rows)
		return err
	})
	return f, err
}

// SchedulesLooking is [Store.Schedules] that looks at so many names.
func (s *Store) SchedulesLooking(ctx context.Context, f schedule.Filter, look int) (core.Page[schedule.Schedule], error) {
	return s.schedules(ctx, f, look)
}
