package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// Sizes of an overview.
const (
	overviewRows   = 20
	overviewQueues = 100
	overviewLeases = 1000
	overviewReady  = 4 * lookFirst // ready jobs of a queue among which those of a namespace are counted
	overviewAhead  = 2000          // schedules, for the next 24 hours
)

// Overview is the state of things in one answer. Each of its statements walks
// an index as far as it shows, and what it counts ends at a cap; rates come from
// roll-ups.
func (s *Store) Overview(ctx context.Context, namespace string) (o view.Overview, err error) {
	h, err := s.Health(ctx)
	if err != nil {
		return o, err
	}
	namespace = namespaceOr(namespace)
	err = s.db.Read(ctx, func(tx Tx) error {
		o = view.Overview{Now: h.Now}
		var err error
		if o.ScheduleLag, err = s.scheduleLag(ctx, tx, namespace, h.Now); err != nil {
			return err
		}
		for _, part := range []func(context.Context, Tx, string, *view.Overview) error{
			s.overviewRunning, s.overviewFailed, s.overviewQueues, s.overviewNext, s.overviewAhead, s.overviewIncidents,
		} {
			if err := part(ctx, tx, namespace, &o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return o, err
	}
	o.Workers, err = s.Workers(ctx, false)
	o.Workers = o.Workers[:min(len(o.Workers), overviewQueues)]
	return o, err
}

func (s *Store) overviewRunning(ctx context.Context, tx Tx, namespace string, o *view.Overview) error {
	w := &where{}
	w.namespace("namespace", namespace)
	running, err := collect(ctx, tx, scanJob, selectLeased+`
		from (select * from belfry.running order by job_id limit `+strconv.Itoa(overviewLeases)+`) as running
		join belfry.jobs on id = job_id
		where `+w.sql(), w.args...)
	if err != nil {
		return err
	}
	slices.SortFunc(running, func(a, b jobRow) int {
		return cmp.Or(a.ClaimedAt.Compare(b.ClaimedAt), cmp.Compare(a.ID, b.ID))
	})
	o.Running = []job.RunningJob{}
	for _, j := range running[:min(len(running), overviewRows)] {
		o.Running = append(o.Running, job.RunningJob{
			ID: j.ID, Namespace: j.Namespace, Task: j.Task, Kind: j.Kind, Queue: j.Queue, Schedule: j.Schedule, Session: j.Session,
			Attempt: j.Attempt, MaxAttempts: j.MaxAttempts, ClaimedAt: j.ClaimedAt, Elapsed: core.Duration(max(0, o.Now.Sub(j.ClaimedAt))),
			Timeout: j.Timeout, CancelAt: j.CancelAt,
		})
	}
	o.Runs, err = s.countJobs(ctx, tx, job.Filter{Namespace: namespace, States: []job.State{job.Running}}, overviewLeases, lookCount)
	return err
}

func (s *Store) overviewFailed(ctx context.Context, tx Tx, namespace string, o *view.Overview) error {
	w := &where{}
	w.namespace("namespace", namespace)
	w.and("finished_at >= ?", micros(o.Now.Add(-oneDay)))
	var err error
	o.Failed, err = collect(ctx, tx, func(r Rows) (f job.FailedJob, err error) {
		err = r.Scan(&f.ID, &f.Namespace, &f.Task, &f.Schedule, (*string)(&f.Reason), &f.Error, &f.Attempt, scanTime(&f.FinishedAt))
		f.Error, _ = core.CleanText(f.Error, 500)
		return f, err
	}, `
		select id, namespace, task, schedule, reason, error, attempt, finished_at
		from (select * from belfry.jobs_done where state = 'failed' order by id desc limit `+strconv.Itoa(lookFirst)+`) as latest
		where `+w.sql()+`
		order by finished_at desc, id desc
		limit `+strconv.Itoa(overviewRows), w.args...)
	if o.Failed == nil {
		o.Failed = []job.FailedJob{}
	}
	if err != nil {
		return err
	}
	q := &where{}
	q.namespace("namespace", namespace)
	q.and("minute >= ?", minuteOf(o.Now.Add(-oneDay)))
	o.Failures, _, err = first(ctx, tx, scanInt, `select cast(coalesce(sum(failed), 0) as bigint) from belfry.job_minutes where `+q.sql(), q.args...)
	if err != nil {
		return err
	}
	o.Minutes, err = s.jobMinutes(ctx, tx, namespace, "", o.Now.Add(-time.Hour))
	return err
}

// scheduleLag is how long the most overdue schedule of a namespace waits.
func (s *Store) scheduleLag(ctx context.Context, tx Tx, namespace string, now time.Time) (core.Duration, error) {
	w := &where{}
	w.and("next_at <= ?", micros(now))
	w.namespace("namespace", namespace)
	oldest, found, err := first(ctx, tx, scanInt, `select next_at from belfry.schedules where next_at > 0 and `+w.sql()+` order by next_at limit 1`, w.args...)
	if !found {
		return 0, err
	}
	return core.Duration(max(0, now.Sub(instant(oldest)))), err
}

// overviewQueues looks at the first in line of each queue, and counts those of
// the namespace among them.
func (s *Store) overviewQueues(ctx context.Context, tx Tx, namespace string, o *view.Overview) error {
	queues, err := collect(ctx, tx, scanQueue, `select `+queueColumns+` from belfry.queues order by name limit `+strconv.Itoa(overviewQueues))
	if err != nil {
		return err
	}
	w := &where{}
	w.and("minute >= ?", minuteOf(o.Now)-6)
	w.namespace("namespace", namespace)
	recent, err := collect(ctx, tx, scanMinute, `select `+minuteColumns+` from belfry.job_minutes where `+w.sql(), w.args...)
	if err != nil {
		return err
	}
	o.Queues = []job.QueueLoad{}
	for _, q := range queues {
		l := job.QueueLoad{Queue: q.Name, PausedAt: q.PausedAt}
		l.Rate.Minute = o.Now.Truncate(time.Minute).Add(-5 * time.Minute)
		for _, m := range recent {
			if m.queue == q.Name && !m.Minute.Before(l.Rate.Minute) && m.Minute.Before(l.Rate.Minute.Add(5*time.Minute)) {
				l.Rate.Add(m.MinuteTotals)
			}
		}
		since, err := s.readyOf(ctx, tx, namespace, q.Name, &l.Ready)
		if err != nil {
			return err
		}
		l.OldestAt = instant(since)
		l.Behind = since > 0 && o.Now.Sub(l.OldestAt) > view.BehindAfter
		o.Queues = append(o.Queues, l)
	}
	slices.SortStableFunc(o.Queues, func(a, b job.QueueLoad) int {
		if a.Behind != b.Behind {
			return bit(b.Behind) - bit(a.Behind)
		}
		if a.Behind {
			return a.OldestAt.Compare(b.OldestAt)
		}
		return 0
	})
	return nil
}

// readyOf counts what is ready in a queue, and answers since when the first in
// line of the namespace is.
func (s *Store) readyOf(ctx context.Context, tx Tx, namespace, queue string, ready *core.Counted) (since int64, err error) {
	if namespace == core.AnyNamespace {
		n, _, err := first(ctx, tx, scanInt, `select count(*) from (select 1`+s.readyIn()+` limit `+strconv.Itoa(lookFirst+1)+`) as bounded`, queue)
		if err != nil {
			return 0, err
		}
		*ready = core.Counted{Count: min(int(n), lookFirst), More: n > lookFirst}
		return s.firstReady(ctx, tx, queue)
	}
	type line struct{ own, looked, since int64 }
	l, _, err := first(ctx, tx, func(r Rows) (l line, err error) { return l, r.Scan(&l.own, &l.looked, &l.since) }, `
		select cast(coalesce(sum(case when namespace = $2 then 1 else 0 end), 0) as bigint), count(*), cast(coalesce(min(case when namespace = $2 then ready_at end), 0) as bigint)
		from (select namespace, ready_at`+s.readyIn()+` order by priority desc, ready_at, id limit `+strconv.Itoa(overviewReady)+`) as bounded`, queue, namespace)
	*ready = core.Counted{Count: min(int(l.own), lookFirst), More: l.own > lookFirst || l.looked == overviewReady}
	return l.since, err
}

func (s *Store) overviewNext(ctx context.Context, tx Tx, namespace string, o *view.Overview) (err error) {
	w := &where{}
	w.namespace("namespace", namespace)
	w.notOwned("name")
	ids, err := collect(ctx, tx, scanInt, `
		select id
		from (select id, namespace, name, next_at from belfry.schedules where next_at > 0 order by next_at limit `+strconv.Itoa(lookFirst)+`) as soon
		where `+w.sql()+`
		order by next_at, name
		limit `+strconv.Itoa(overviewRows), w.args...)
	o.Next = []view.Next{}
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := collect(ctx, tx, scanSchedule, `
		select `+scheduleColumns+`
		from belfry.schedules s
		where `+s.sql.In("s.id", 1)+`
		order by s.next_at, s.name`, s.sql.List(ids))
	if err != nil {
		return err
	}
	list := make([]schedule.Schedule, len(rows))
	for i := range rows {
		list[i] = rows[i].Schedule
	}
	if err := s.nextRuns(ctx, tx, list); err != nil {
		return err
	}
	for _, sc := range list {
		if at := sc.RunsAt(); !at.IsZero() {
			o.Next = append(o.Next, view.Next{Namespace: sc.Namespace, Schedule: sc.Name, NextAt: at})
		}
	}
	slices.SortStableFunc(o.Next, func(a, b view.Next) int { return a.NextAt.Compare(b.NextAt) })
	return nil
}

func (s *Store) overviewAhead(ctx context.Context, tx Tx, namespace string, o *view.Overview) (err error) {
	o.Ahead, err = s.forecast(ctx, tx, schedule.Ahead{Namespace: namespace, ByHour: true}.WithDefaults(o.Now), overviewAhead)
	return err
}

func (s *Store) overviewIncidents(ctx context.Context, tx Tx, namespace string, o *view.Overview) error {
	w := &where{}
	w.namespace("namespace", namespace)
	w.conds = append(w.conds, "ended_at = 0")
	var p core.Page[monitor.Incident]
	err := s.incidentPage(ctx, tx, w, overviewRows, &p)
	o.Incidents = p.Items
	return err
}
