package store

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Health asks the database everything that has to be right.
func (s *Store) Health(ctx context.Context) (h view.Health, err error) {
	if h.Database, err = s.db.Version(ctx); err != nil {
		return h, err
	}
	schema, err := s.db.Schema(ctx)
	if err != nil {
		return h, err
	}
	h.SchemaVersion, h.SchemaFloor, h.SchemaWanted = schema.Version, schema.Floor, schema.Known
	if h.ClockSkew, err = s.db.Skew(ctx); err != nil {
		return h, err
	}
	if h.Now, err = s.Now(ctx); err != nil {
		return h, err
	}
	h.Wakeups, h.Zones = s.db.Wakeups().Mode(), s.zonesHealth()
	err = s.db.Read(ctx, func(tx Tx) error {
		oldest, _, err := first(ctx, tx, scanInt, `select next_at from belfry.schedules where next_at > 0 order by next_at limit 1`)
		if err != nil {
			return err
		}
		if oldest > 0 {
			h.ScheduleLag = max(0, h.Now.Sub(instant(oldest)))
		}
		n, _, err := first(ctx, tx, scanInt, `select count(*) from belfry.sessions where ended_at = 0 and expires_at > $1`, micros(h.Now))
		h.Workers = int(n)
		return err
	})
	return h, err
}

// Alive reports a fault of this process that another would not have: on SQLite,
// that the file cannot be read. A server that is away comes back by itself, and
// to start a node again does not help it.
func (s *Store) Alive(ctx context.Context) error {
	if db, ok := s.db.(interface {
		Alive(ctx context.Context) error
	}); ok {
		return db.Alive(ctx)
	}
	return nil
}

// Retention of what is not in partitions.
const (
	keepSessions = 7 * 24 * time.Hour   // ended ones
	keepTokens   = 30 * 24 * time.Hour  // that nobody can use any more; each sign-in through a provider makes one
	keepAudit    = 400 * 24 * time.Hour // a year, and a little
	keepHours    = 100 * 24 * time.Hour // of monitors' results; days stay for ever
	keepAlerts   = 400 * 24 * time.Hour
	keepRemovals = 24 * time.Hour // that nobody ended
	tidyStep     = 2000           // rows of each that one pass removes
)

// Prune removes what retention no longer keeps, a bounded part at a time, and
// reports whether there is more.
func (s *Store) Prune(ctx context.Context) (more bool, err error) {
	keep := s.opt.Keep
	if err := s.db.Read(ctx, func(tx Tx) error {
		// What was not rolled up yet is in no history but its own.
		m, err := s.jobMark(ctx, tx)
		keep.Before = instant(max(1, m.minute*60_000_000))
		return err
	}); err != nil {
		return false, err
	}
	more, err = s.db.Prune(ctx, keep)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, "prune", func(c *change) error {
		for _, t := range []struct {
			query  string
			cutoff int64
		}{
			{`delete from belfry.job_keys where (namespace, name) in (select namespace, name from belfry.job_keys where expires_at <= $1 order by expires_at limit $2)`, micros(c.now)},
			{`delete from belfry.sessions where id in (select id from belfry.sessions where settled = 1 and ended_at <= $1 limit $2)`, micros(c.now.Add(-keepSessions))},
			{`delete from belfry.listening where node in (select node from belfry.listening where until <= $1 limit $2)`, micros(c.now.Add(-keepSessions))},
			{`delete from belfry.web_sessions where hash in (select hash from belfry.web_sessions where expires_at <= $1 order by expires_at limit $2)`, micros(c.now)},
			{`delete from belfry.tokens where id in (select id from belfry.tokens where expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id limit $2)`, micros(c.now.Add(-keepTokens))},
			{`delete from belfry.join_tokens where id in (select id from belfry.join_tokens where expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id limit $2)`, micros(c.now.Add(-keepTokens))},
			{`delete from belfry.artifact_removals where name in (select name from belfry.artifact_removals where begun_at <= $1 limit $2)`, micros(c.now.Add(-keepRemovals))},
			{`delete from belfry.backfills where id in (select id from belfry.backfills where ended_at > 0 and ended_at <= $1 order by id limit $2)`, micros(c.now.Add(-keepAudit))},
			{`delete from belfry.runs_again where job_id in (select job_id from belfry.runs_again where at <= $1 order by job_id limit $2)`, micros(c.now.Add(-keepAudit))},
			{`delete from belfry.audit where seq in (select seq from belfry.audit where at <= $1 order by seq limit $2)`, micros(c.now.Add(-keepAudit))},
			{`delete from belfry.attempt_details where seq in (select seq from belfry.attempt_details where at <= $1 order by at limit $2)`, micros(c.now.Add(-s.opt.Keep.Age))},
			{`delete from belfry.tickets where job_id in (select job_id from belfry.tickets where next_at <= $1 order by next_at limit $2)`, micros(c.now.Add(-keepTickets))},
			{`delete from belfry.outputs where seq in (select seq from belfry.outputs where at <= $1 order by at limit $2)`, micros(c.now.Add(-s.opt.Keep.Age))},
			{`delete from belfry.outputs where seq in (select seq from belfry.outputs where confirmed = 0 and at <= $1 order by at limit $2)`, micros(c.now.Add(-task.MaxTimeout.D() - keepOpen))},
			{`delete from belfry.job_minutes where (minute, namespace, queue) in (select minute, namespace, queue from belfry.job_minutes where minute < $1 order by minute limit $2)`, minuteOf(c.now.Add(-keepMinutes))},
			{`delete from belfry.schedule_days where (day, schedule_id) in (select day, schedule_id from belfry.schedule_days where day < $1 order by day limit $2)`, c.now.Add(-keepDays).Unix() / 86400},
		} {
			n, err := c.tx.Exec(ctx, t.query, t.cutoff, tidyStep)
			if err != nil {
				return err
			}
			more = more || n == tidyStep
		}
		for _, prune := range []func() (bool, error){c.pruneMonitorHistory, c.pruneDemands} {
			left, err := prune()
			if err != nil {
				return err
			}
			more = more || left
		}
		return nil
	})
	return more, err
}

// pruneMonitorHistory removes results and roll-ups that are not kept. What was
// not rolled up yet stays.
func (c *change) pruneMonitorHistory() (more bool, err error) {
	at, err := c.s.rolled(c.ctx, c.tx)
	if err != nil {
		return false, err
	}
	results := min(hourOf(c.now.Add(-c.s.opt.Keep.Results)), hourOf(at.hour))
	for _, t := range []struct {
		query  string
		cutoff int64
	}{
		{`delete from belfry.results where (hour, monitor_id, at) in (select hour, monitor_id, at from belfry.results where hour < $1 order by hour, monitor_id, at limit $2)`, results},
		{`delete from belfry.rollups where (monitor_id, span, at) in (select monitor_id, span, at from belfry.rollups where span = 3600 and at < $1 order by at limit $2)`, micros(c.now.Add(-keepHours))},
		{`delete from belfry.alerts where id in (select id from belfry.alerts where state <> 'pending' and created_at < $1 order by id limit $2)`, micros(c.now.Add(-keepAlerts))},
		{`delete from belfry.alert_tries where id in (select id from belfry.alert_tries where at < $1 order by id limit $2)`, micros(c.now.Add(-keepAlerts))},
	} {
		n, err := c.tx.Exec(c.ctx, t.query, t.cutoff, tidyStep)
		if err != nil {
			return false, err
		}
		more = more || n == tidyStep
	}
	return more, nil
}
