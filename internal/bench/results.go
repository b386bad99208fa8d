//go:build linux

package bench

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// result is a check as it is on record.
type result struct {
	monitor int64
	at      time.Time
	delay   time.Duration
	latency time.Duration
	outcome task.CheckOutcome
}

// veryLate is from when on a check counts from its start and not from its time, as package store says.
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

// results are those that count in a span. On SQLite no node may run.
func (s *Site) results(ctx context.Context, from, to time.Time) (all []result, err error) {
	err = s.With(ctx, store.Options{Keep: keepAll}, func(st *store.Store) error {
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

// Uneven is how far the distance of each two requests of a monitor that follow each other is from what it should be.
func Uneven(seen []Arrival, every time.Duration) (list []time.Duration) {
	last := map[int64]int64{}
	for _, a := range seen {
		if before, ok := last[a.Monitor]; ok {
			list = append(list, (time.Duration(a.Nanos-before) - every).Abs())
		}
		last[a.Monitor] = a.Nanos
	}
	return list
}

// Seconds are the requests in the emptiest and in the fullest of the whole seconds of a span. They are those of the clock:
// all checks of one second begin with it, and a second that began in the midst of them would share them with the next.
func Seconds(seen []Arrival, from, to time.Time) (least, most int) {
	from, to = from.Add(time.Second-1).Truncate(time.Second), to.Truncate(time.Second)
	counts := make([]int, max(int(to.Sub(from)/time.Second), 1))
	for _, a := range seen {
		if since := a.At().Sub(from); since >= 0 && int(since/time.Second) < len(counts) {
			counts[since/time.Second]++
		}
	}
	return slices.Min(counts), slices.Max(counts)
}
