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
)

// keepKeys is the extra time for transactions that began before their keys expired and look later.
const keepKeys = 10 * time.Second

const keepSessions = 7 * 24 * time.Hour // ended sessions

const keepTokens = 30 * 24 * time.Hour // expired and revoked tokens; each sign-in through a provider creates one

const keepAudit = 400 * 24 * time.Hour // a year, and a margin

const keepAlerts = 400 * 24 * time.Hour

const keepRemovals = 24 * time.Hour // removals without an end

// Prune deletes rows past retention, a bounded number at a time, and reports whether there may be more.
func (s *Store) Prune(ctx context.Context) (more bool, err error) {
	keep := s.Opt.Keep
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		// Jobs that are not rolled up yet are in no other history, so they stay.
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
	trials, err := s.trials.PruneTrials(ctx)
	if err != nil {
		return false, err
	}
	beyond, err := s.hooks.Beyond(ctx)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, "prune", func(c *Change) error {
		for _, o := range []old{
			{"job_keys", "namespace, name", "expires_at <= $1 order by expires_at", base.Micros(c.Now.Add(-keepKeys))},
			{"sessions", "id", "settled = 1 and ended_at <= $1", base.Micros(c.Now.Add(-keepSessions))},
			{"listening", "node", "until <= $1", base.Micros(c.Now.Add(-keepSessions))},
			{"web_sessions", "hash", "expires_at <= $1 order by expires_at", base.Micros(c.Now)},
			{"tokens", "id", "expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id", base.Micros(c.Now.Add(-keepTokens))},
			{"join_tokens", "id", "expires_at > 0 and expires_at <= $1 or revoked_at > 0 and revoked_at <= $1 order by id", base.Micros(c.Now.Add(-keepTokens))},
			{"artifact_removals", "name", "begun_at <= $1", base.Micros(c.Now.Add(-keepRemovals))},
			{"backfills", "id", "ended_at > 0 and ended_at <= $1 order by id", base.Micros(c.Now.Add(-keepAudit))},
			{"runs_again", "job_id", "at <= $1 order by job_id", base.Micros(c.Now.Add(-keepAudit))},
			{"debounced", "job_id", "last_at <= $1 order by last_at", base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{"audit", "seq", "at <= $1 order by seq", base.Micros(c.Now.Add(-keepAudit))},
			{"attempt_details", "seq", "at <= $1 order by at", base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{"tickets", "job_id", "next_at <= $1 order by next_at", base.Micros(c.Now.Add(-remote.KeepTickets))},
			{"outputs", "seq", "at <= $1 order by at", base.Micros(c.Now.Add(-s.Opt.Keep.Age))},
			{"outputs", "seq", "confirmed = 0 and at <= $1 order by at", base.Micros(c.Now.Add(-task.MaxTimeout.D() - programs.KeepOpen))},
			{"job_minutes", "minute, namespace, queue", "minute < $1 order by minute", history.MinuteOf(c.Now.Add(-history.KeepMinutes))},
			{"queue_samples", "queue, namespace, span, at", "span = 60 and at < $1 order by at", base.Micros(c.Now.Add(-job.KeepSamples))},
			{"queue_samples", "queue, namespace, span, at", "span = 3600 and at < $1 order by at", base.Micros(c.Now.Add(-job.KeepSampleHours))},
			{"sampled", "span, at", "span = 60 and at < $1 order by at", base.Micros(c.Now.Add(-job.KeepSamples))},
			{"sampled", "span, at", "span = 3600 and at < $1 order by at", base.Micros(c.Now.Add(-job.KeepSampleHours))},
			{"task_days", "day, task_id", "day < $1 order by day", c.Now.Add(-history.KeepDays).Unix() / 86400},
			{"schedule_days", "day, schedule_id", "day < $1 order by day", c.Now.Add(-history.KeepDays).Unix() / 86400},
		} {
			left, err := c.removeOld(o)
			if err != nil {
				return err
			}
			more = more || left
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
	return more || trials, err
}

// pruneMonitorHistory deletes results and roll-ups past retention. Results that are not rolled up yet stay.
func (c *Change) pruneMonitorHistory() (more bool, err error) {
	at, err := c.s.uptime.Rolled(c.Ctx, c.Tx)
	if err != nil {
		return false, err
	}
	results := min(base.HourOf(c.Now.Add(-c.s.Opt.Keep.Results)), base.HourOf(at.Hour))
	for _, o := range []old{
		{"results", "hour, monitor_id, at", "hour < $1 order by hour, monitor_id, at", results},
		{"rollups", "monitor_id, span, at", "span = 3600 and at < $1 order by at", base.Micros(c.Now.Add(-base.KeepHours))},
		{"alerts", "id", "state <> 'pending' and created_at < $1 order by id", base.Micros(c.Now.Add(-keepAlerts))},
		{"alert_tries", "id", "at < $1 order by id", base.Micros(c.Now.Add(-keepAlerts))},
	} {
		left, err := c.removeOld(o)
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}

// old selects the rows of a table that are past retention.
type old struct {
	table  string
	key    string // its primary key
	which  string // condition, with $1 as the cutoff, and order of deletion
	cutoff int64
}

// removeOld deletes a bounded number of these rows, and reports whether there may be more. A row that another transaction is
// changing is skipped, because it may no longer match afterwards: PostgreSQL would wait for it, and then check its key alone.
func (c *Change) removeOld(o old) (more bool, err error) {
	n, err := c.Tx.Exec(c.Ctx, `
		delete from belfry.`+o.table+`
		where (`+o.key+`) in (
			select `+o.key+`
			from belfry.`+o.table+`
			where `+o.which+`
			limit $2 + 0`+c.SQL.SkipLocked(o.table)+`)`, o.cutoff, base.TidyStep)
	return n == base.TidyStep, err
}
