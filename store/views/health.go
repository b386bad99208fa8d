package views

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// Health reads the health of all parts from the database.
func (s *Store) Health(ctx context.Context) (h view.Health, err error) {
	if h.Database, err = s.DB().Version(ctx); err != nil {
		return h, err
	}
	schema, err := s.DB().Schema(ctx)
	if err != nil {
		return h, err
	}
	h.SchemaVersion, h.SchemaFloor, h.SchemaWanted = schema.Version, schema.Floor, schema.Known
	if h.ClockSkew, err = s.DB().Skew(ctx); err != nil {
		return h, err
	}
	if h.Now, err = s.Now(ctx); err != nil {
		return h, err
	}
	h.Full, h.ReadOnly, h.DiskFails = s.Refuses()
	h.Wakeups, h.Zones = s.DB().Wakeups().Mode(), s.zones.ZonesHealth()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		oldest, _, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.schedules where next_at > 0 order by next_at limit 1`)
		if err != nil {
			return err
		}
		if oldest > 0 {
			h.ScheduleLag = max(0, h.Now.Sub(base.Instant(oldest)))
		}
		if h.QuietUntil, err = s.quietUntil(ctx, tx, h.Now); err != nil {
			return err
		}
		n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from belfry.sessions where ended_at = 0 and expires_at > $1`, base.Micros(h.Now))
		h.Workers = int(n)
		return err
	})
	return h, err
}

// shownQuiet is how far the clock is behind a planned time that ran before that is reported.
const shownQuiet = 10 * time.Second

// quietLook is the last look for planned times that are quiet. A look reads all schedules, so there is one after the clock was
// set, and one a minute while there are such times. Until the clock is set again, no other time can come before them.
type quietLook struct {
	mu    sync.Mutex
	set   [3]int64 // how the clock had been set: shifts, total, set_at; zero: there was no look
	at    time.Time
	until time.Time
}

const quietAgain = time.Minute

// quietUntil returns the last planned time that ran, if the clock was set back behind it; else zero. Times of schedules with a
// rule from the finish are not among them: those run before.
func (s *Store) quietUntil(ctx context.Context, tx base.Tx, now time.Time) (time.Time, error) {
	set, _, err := base.First(ctx, tx, func(rows base.Rows) (set [3]int64, err error) {
		return set, rows.Scan(&set[0], &set[1], &set[2])
	}, `select shifts, total, set_at from belfry.clock`)
	if err != nil || set == [3]int64{} {
		return time.Time{}, err
	}
	q := &s.quiet
	q.mu.Lock()
	defer q.mu.Unlock()
	behind := now.Add(shownQuiet).Before(q.until)
	if q.set != set || behind && time.Since(q.at) >= quietAgain {
		from := base.Micros(now)
		until, _, err := base.First(ctx, tx, base.ScanInt, `
			select coalesce(max(high_water), 0)
			from belfry.schedules
			where next_at > $1 and high_water > $2 and (finish_at = 0 or finish_at > high_water)`, from, from+shownQuiet.Microseconds())
		if err != nil {
			return time.Time{}, err
		}
		q.set, q.at, q.until = set, time.Now(), base.Instant(until)
		behind = now.Add(shownQuiet).Before(q.until)
	}
	if !behind {
		return time.Time{}, nil
	}
	return q.until, nil
}

// Alive reports a fault of this process that a restart can cure: on SQLite, that the file cannot be read. An unreachable
// PostgreSQL server comes back by itself, and restarting a node does not help.
func (s *Store) Alive(ctx context.Context) error {
	if db, ok := s.DB().(interface {
		Alive(ctx context.Context) error
	}); ok {
		return db.Alive(ctx)
	}
	return nil
}
