package views

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/remote"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Health asks the database everything that has to be right.
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
	h.Wakeups, h.Zones = s.DB().Wakeups().Mode(), s.zones.ZonesHealth()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		oldest, _, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.schedules where next_at > 0 order by next_at limit 1`)
		if err != nil {
			return err
		}
		if oldest > 0 {
			h.ScheduleLag = max(0, h.Now.Sub(base.Instant(oldest)))
		}
		n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from belfry.sessions where ended_at = 0 and expires_at > $1`, base.Micros(h.Now))
		h.Workers = int(n)
		return err
	})
	return h, err
}

// Alive reports a fault of this process that another would not have: on SQLite,
// that the file cannot be read. A server that is away comes back by itself, and
// to start a node again does not help it.
func (s *Store) Alive(ctx context.Context) error {
	if db, ok := s.DB().(interface {
		Alive(ctx context.Context) error
	}); ok {
		return db.Alive(ctx)
	}
	return nil
}

const keepSessions = 7 * 24 * time.Hour // ended ones

const keepTokens = 30 * 24 * time.Hour // that nobody can use any more; each sign-in through a provider makes one

const keepAudit = 400 * 24 * time.Hour // a year, and a little

const keepAlerts = 400 * 24 * time.Hour

const keepRemovals = 24 * time.Hour // that nobody ended

// Prune removes what retention no longer keeps, a bounded part at a time, and
// reports whether there is more.
func (s *Store) Prune(ctx context.Context) (more bool, err error) {
	keep := s.Opt.Keep
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		// What was not rolled up yet is in no history but its own.
		m, err := s.history.JobMark(ctx, tx)
		keep.Before = base.Instant(max(1, m.Minute*60_000_000))
		return err
	}); err != nil {
		return false, err
	}
	more, err = s.DB().Prune(ctx, keep)
	if err != nil {
		return false, err
	}
	beyond, err := s.hooks.Beyond(ctx)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, "prune", func(c *Change) error {
		for _, t := range []struct {
			query  string
			cutoff int64
		}{
			{`delete from belfry.job_keys where (namespace, name) in (select namespace, name from belfry.job_keys where expires_at <= $1 order by expires_at limit $2)`, base.Micros(c.Now)},
			{`delete from belfry.sessions where id in (select id from belfry.sessions where settled = 1 and ended_at <= $1 limit $2)`, base.Micros(c.Now.Add(-keepSessions))},
			{`delete from belfry.listening where node in (select node from belfry.listening where until <= $1 limit $2)`, base.Micros(c.Now.Add(-keepSessions))},
			{`delete from belfry.web_sessions where hash in (select hash from belfry.web_sessions where expires_at <= $1 order by expires_at limit $2)`, base.Micros(c.Now)},
			{`delete from belfry.tokens where id in (select id from belfry.tokens where expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id limit $2)`, base.Micros(c.Now.Add(-keepTokens))},
			{`delete from belfry.join_tokens where id in (select id from belfry.join_tokens where expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id limit $2)`, base.Micros(c.Now.Add(-keepTokens))},
			{`delete from belfry.artifact_removals where name in (select name from belfry.artifact_removals where begun_at <= $1 limit $2)`, base.Micros(c.Now.Add(-keepRemovals))},
			{`delete from belfry.backfills where id in (select id from belfry.backfills where ended_at > 0 and ended_at <= $1 order by id limit $2)`, base.Micros(c.Now.Add(-keepAudit))},
			{`delete from belfry.runs_again where job_id in (select job_id from belfry.runs_again where at <= $1 order by job_id limit $2)`, base.Micros(c.Now.Add(-keepAudit))},
			{`delete from belfry.debounced where job_id in (select job_id from belfry.debounced where last_at <= $1 order by last_at limit $2)`, base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{`delete from belfry.audit where seq in (select seq from belfry.audit where at <= $1 order by seq limit $2)`, base.Micros(c.Now.Add(-keepAudit))},
			{`delete from belfry.attempt_details where seq in (select seq from belfry.attempt_details where at <= $1 order by at limit $2)`, base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{`delete from belfry.tickets where job_id in (select job_id from belfry.tickets where next_at <= $1 order by next_at limit $2)`, base.Micros(c.Now.Add(-remote.KeepTickets))},
			{`delete from belfry.outputs where seq in (select seq from belfry.outputs where at <= $1 order by at limit $2)`, base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{`delete from belfry.outputs where seq in (select seq from belfry.outputs where confirmed = 0 and at <= $1 order by at limit $2)`, base.Micros(c.Now.Add(-task.MaxTimeout.D() - programs.KeepOpen))},
			{`delete from belfry.job_minutes where (minute, namespace, queue) in (select minute, namespace, queue from belfry.job_minutes where minute < $1 order by minute limit $2)`, history.MinuteOf(c.Now.Add(-history.KeepMinutes))},
			{`delete from belfry.queue_samples where (queue, namespace, span, at) in (select queue, namespace, span, at from belfry.queue_samples where span = 60 and at < $1 order by at limit $2)`, base.Micros(c.Now.Add(-job.KeepSamples))},
			{`delete from belfry.queue_samples where (queue, namespace, span, at) in (select queue, namespace, span, at from belfry.queue_samples where span = 3600 and at < $1 order by at limit $2)`, base.Micros(c.Now.Add(-job.KeepSampleHours))},
			{`delete from belfry.sampled where (span, at) in (select span, at from belfry.sampled where span = 60 and at < $1 order by at limit $2)`, base.Micros(c.Now.Add(-job.KeepSamples))},
			{`delete from belfry.sampled where (span, at) in (select span, at from belfry.sampled where span = 3600 and at < $1 order by at limit $2)`, base.Micros(c.Now.Add(-job.KeepSampleHours))},
			{`delete from belfry.task_days where (day, task_id) in (select day, task_id from belfry.task_days where day < $1 order by day limit $2)`, c.Now.Add(-history.KeepDays).Unix() / 86400},
			{`delete from belfry.schedule_days where (day, schedule_id) in (select day, schedule_id from belfry.schedule_days where day < $1 order by day limit $2)`, c.Now.Add(-history.KeepDays).Unix() / 86400},
		} {
			n, err := c.Tx.Exec(ctx, t.query, t.cutoff, base.TidyStep)
			if err != nil {
				return err
			}
			more = more || n == base.TidyStep
		}
		if err := subscribers.Prune(c.Change); err != nil {
			return err
		}
		for _, prune := range []func() (bool, error){c.pruneMonitorHistory, c.tasks().PruneRequirements, c.turns().Prune, c.steps().Prune, c.workflows().PruneRuns, func() (bool, error) { return c.hooks().Prune(beyond) }} {
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
func (c *Change) pruneMonitorHistory() (more bool, err error) {
	at, err := c.s.uptime.Rolled(c.Ctx, c.Tx)
	if err != nil {
		return false, err
	}
	results := min(base.HourOf(c.Now.Add(-c.s.Opt.Keep.Results)), base.HourOf(at.Hour))
	for _, t := range []struct {
		query  string
		cutoff int64
	}{
		{`delete from belfry.results where (hour, monitor_id, at) in (select hour, monitor_id, at from belfry.results where hour < $1 order by hour, monitor_id, at limit $2)`, results},
		{`delete from belfry.rollups where (monitor_id, span, at) in (select monitor_id, span, at from belfry.rollups where span = 3600 and at < $1 order by at limit $2)`, base.Micros(c.Now.Add(-base.KeepHours))},
		{`delete from belfry.alerts where id in (select id from belfry.alerts where state <> 'pending' and created_at < $1 order by id limit $2)`, base.Micros(c.Now.Add(-keepAlerts))},
		{`delete from belfry.alert_tries where id in (select id from belfry.alert_tries where at < $1 order by id limit $2)`, base.Micros(c.Now.Add(-keepAlerts))},
	} {
		n, err := c.Tx.Exec(c.Ctx, t.query, t.cutoff, base.TidyStep)
		if err != nil {
			return false, err
		}
		more = more || n == base.TidyStep
	}
	return more, nil
}
