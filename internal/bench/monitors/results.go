//go:build linux

package monitors

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// result is a recorded check.
type result struct {
	monitor int64
	at      time.Time
	delay   time.Duration
	latency time.Duration
	outcome task.CheckOutcome
}

// veryLate is the lateness from which a check counts from its start and not from its due time, as in package store.
const veryLate = 10 * time.Second

func (r result) due() time.Time {
	if r.delay > veryLate {
		return r.at.Add(-r.delay)
	}
	return r.at
}

func delays(all []result) (list []time.Duration) {
	for _, r := range all {
		list = append(list, r.delay)
	}
	return list
}

// results reads the check results in a span. On SQLite no node may run.
func results(ctx context.Context, s *database.Site, from, to time.Time) (all []result, err error) {
	err = s.With(ctx, store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
		return st.DB().Read(ctx, func(tx base.Tx) error {
			rows, err := tx.Query(ctx, `select monitor_id, at, queue_delay, latency, outcome from belfry.results where at >= $1 and at < $2`, from.UnixMicro(), to.UnixMicro())
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var r result
				var at, delay, latency int64
				if err := rows.Scan(&r.monitor, &at, &delay, &latency, &r.outcome); err != nil {
					return err
				}
				r.at, r.delay, r.latency = time.UnixMicro(at), time.Duration(delay)*time.Microsecond, time.Duration(latency)*time.Microsecond
				all = append(all, r)
			}
			return rows.Err()
		})
	})
	return all, err
}
