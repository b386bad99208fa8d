package views

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/view"
)

// Sizes of an overview.
const (
	overviewRows    = 20
	overviewPassed  = 20 * base.LookFirst // failed jobs of all namespaces that are passed over to find those of one
	overviewOutages = 10                  // pages of outages that are read to find those outside of maintenance
	overviewQueues  = 100
	overviewLeases  = 1000
	overviewReady   = 4 * base.LookFirst // ready jobs of a queue that are read to count those of a namespace
	overviewAhead   = 2000               // schedules, for the next 24 hours
)

// Overview returns the present state of all areas in one answer. Each statement walks an index only as far as it shows, and
// counts up to a cap. Rates come from roll-ups, and from the jobs that ended since.
func (s *Store) Overview(ctx context.Context, namespace string) (o view.Overview, err error) {
	h, err := s.Health(ctx)
	if err != nil {
		return o, err
	}
	namespace = base.NamespaceOr(namespace)
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		o = view.Overview{Now: h.Now, QuietUntil: h.QuietUntil}
		var err error
		if o.ScheduleLag, err = s.scheduleLag(ctx, tx, namespace, h.Now); err != nil {
			return err
		}
		for _, part := range []func(context.Context, base.Tx, string, *view.Overview) error{
			s.overviewRunning, s.overviewUsual, s.overviewFailed, s.overviewFailing, s.overviewDay, s.overviewQueues, s.overviewLatest, s.overviewNext, s.overviewLate,
			s.overviewAhead, s.overviewIncidents, s.overviewLost, s.overviewApprovals,
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
	o.Workers, err = s.workers.Workers(ctx, false)
	o.Workers = o.Workers[:min(len(o.Workers), overviewQueues)]
	return o, err
}

func (s *Store) overviewRunning(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	w := &base.Where{}
	w.Namespace("namespace", namespace)
	// Only what is shown is kept: the inputs of all of them may be large.
	running, err := base.Collect(ctx, tx, func(r base.Rows) (job.RunningJob, error) {
		j, err := jobs.ScanJob(r)
		return job.RunningJob{
			ID: j.ID, Namespace: j.Namespace, Task: j.Task, Kind: j.Kind, Queue: j.Queue, Schedule: j.Schedule, Session: j.Session,
			Attempt: j.Attempt, MaxAttempts: j.MaxAttempts, ClaimedAt: j.ClaimedAt, Elapsed: core.Duration(max(0, o.Now.Sub(j.ClaimedAt))),
			Timeout: j.Timeout, CancelAt: j.CancelAt,
		}, err
	}, jobs.SelectLeased+`
		from (select * from belfry.running order by job_id limit `+strconv.Itoa(overviewLeases)+`) as running
		join belfry.jobs on id = job_id
		where `+w.Sql(), w.Args...)
	if err != nil {
		return err
	}
	slices.SortFunc(running, func(a, b job.RunningJob) int {
		return cmp.Or(a.ClaimedAt.Compare(b.ClaimedAt), cmp.Compare(a.ID, b.ID))
	})
	o.Running = append([]job.RunningJob{}, running[:min(len(running), overviewRows)]...)
	o.Runs, err = s.search.CountIn(ctx, tx, job.Filter{Namespace: namespace, States: []job.State{job.Running}}, overviewLeases, search.LookCount)
	return err
}

func (s *Store) overviewFailed(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	latest, w, _, err := s.latestFailed(ctx, tx, namespace, o.Now)
	if err != nil {
		return err
	}
	w.And("finished_at >= ?", base.Micros(o.Now.Add(-base.OneDay)))
	o.Failed, err = base.Collect(ctx, tx, func(r base.Rows) (f job.FailedJob, err error) {
		err = r.Scan(&f.ID, &f.Namespace, &f.Task, &f.Schedule, (*string)(&f.Reason), &f.Error, &f.Attempt, base.ScanTime(&f.FinishedAt))
		f.Error, _ = core.CleanText(f.Error, 500)
		return f, err
	}, `
		select id, namespace, task, schedule, reason, error, attempt, finished_at
		from `+latest+`
		where `+w.Sql()+`
		order by finished_at desc, id desc
		limit `+strconv.Itoa(overviewRows), w.Args...)
	if o.Failed == nil {
		o.Failed = []job.FailedJob{}
	}
	if err != nil {
		return err
	}
	q := &base.Where{}
	q.Namespace("namespace", namespace)
	q.And("minute >= ?", history.MinuteOf(o.Now.Add(-base.OneDay)))
	o.Failures, _, err = base.First(ctx, tx, base.ScanInt, `select cast(coalesce(sum(failed), 0) as bigint) from belfry.job_minutes where `+q.Sql(), q.Args...)
	if err != nil {
		return err
	}
	o.Minutes, err = s.history.MinutesIn(ctx, tx, namespace, "", o.Now.Add(-time.Hour))
	return err
}

// scheduleLag returns the delay of the most overdue schedule of a namespace.
func (s *Store) scheduleLag(ctx context.Context, tx base.Tx, namespace string, now time.Time) (core.Duration, error) {
	w := &base.Where{}
	w.And("next_at <= ?", base.Micros(now))
	w.Namespace("coalesce(namespace, '')", namespace) // otherwise SQLite reads the namespace in the order of names
	oldest, found, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.schedules where next_at > 0 and `+w.Sql()+` order by next_at limit 1`, w.Args...)
	if !found {
		return 0, err
	}
	return core.Duration(max(0, now.Sub(base.Instant(oldest)))), err
}

// overviewQueues reads the first ready jobs of each queue, and counts those of the namespace among them.
func (s *Store) overviewQueues(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	queues, err := base.Collect(ctx, tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues order by name limit `+strconv.Itoa(overviewQueues))
	if err != nil {
		return err
	}
	w := &base.Where{}
	w.And("minute >= ?", history.MinuteOf(o.Now)-6)
	w.Namespace("namespace", namespace)
	recent, err := base.Collect(ctx, tx, history.ScanMinute, `select `+history.MinuteColumns+` from belfry.job_minutes where `+w.Sql(), w.Args...)
	if err != nil {
		return err
	}
	o.Queues = []job.QueueLoad{}
	for _, q := range queues {
		l := job.QueueLoad{Queue: q.Name, PausedAt: q.PausedAt}
		l.Rate.Minute = o.Now.Truncate(time.Minute).Add(-5 * time.Minute)
		for _, m := range recent {
			if m.Queue == q.Name && !m.Minute.Before(l.Rate.Minute) && m.Minute.Before(l.Rate.Minute.Add(5*time.Minute)) {
				l.Rate.Add(m.MinuteTotals)
			}
		}
		since, err := s.readyOf(ctx, tx, namespace, q.Name, &l.Ready)
		if err != nil {
			return err
		}
		l.OldestAt = base.Instant(since)
		l.Behind = since > 0 && o.Now.Sub(l.OldestAt) > view.BehindAfter
		o.Queues = append(o.Queues, l)
	}
	slices.SortStableFunc(o.Queues, func(a, b job.QueueLoad) int {
		if a.Behind != b.Behind {
			return base.Bit(b.Behind) - base.Bit(a.Behind)
		}
		if a.Behind {
			return a.OldestAt.Compare(b.OldestAt)
		}
		return 0
	})
	return nil
}

// readyOf counts the ready jobs of a queue, and returns the time since which the first job of the namespace is ready.
func (s *Store) readyOf(ctx context.Context, tx base.Tx, namespace, queue string, ready *core.Counted) (since int64, err error) {
	if namespace == core.AnyNamespace {
		n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from (select 1`+s.ReadyIn()+` limit `+strconv.Itoa(base.LookFirst+1)+`) as bounded`, queue)
		if err != nil {
			return 0, err
		}
		*ready = core.Counted{Count: min(int(n), base.LookFirst), More: n > base.LookFirst}
		return s.FirstReady(ctx, tx, queue)
	}
	type line struct{ own, looked, since int64 }
	l, _, err := base.First(ctx, tx, func(r base.Rows) (l line, err error) { return l, r.Scan(&l.own, &l.looked, &l.since) }, `
		select cast(coalesce(sum(case when namespace = $2 then 1 else 0 end), 0) as bigint), count(*), cast(coalesce(min(case when namespace = $2 then ready_at end), 0) as bigint)
		from (select namespace, ready_at`+s.ReadyIn()+` order by priority desc, turn, id limit `+strconv.Itoa(overviewReady)+`) as bounded`, queue, namespace)
	*ready = core.Counted{Count: min(int(l.own), base.LookFirst), More: l.own > base.LookFirst || l.looked == overviewReady}
	return l.since, err
}

func (s *Store) overviewNext(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	w := &base.Where{}
	w.Namespace("namespace", namespace)
	w.NotOwned("name")
	ids, err := base.Collect(ctx, tx, base.ScanInt, `
		select id
		from (select id, namespace, name, next_at from belfry.schedules where next_at > 0 order by next_at limit `+strconv.Itoa(base.LookFirst)+`) as soon
		where `+w.Sql()+`
		order by next_at, name
		limit `+strconv.Itoa(overviewRows), w.Args...)
	o.Next = []view.Next{}
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := base.Collect(ctx, tx, schedules.ScanSchedule, `
		select `+schedules.ScheduleColumns+`
		from belfry.schedules s
		where `+s.SQL.In("s.id", 1)+`
		order by s.next_at, s.name`, s.SQL.List(ids))
	if err != nil {
		return err
	}
	list := make([]schedule.Schedule, len(rows))
	for i := range rows {
		list[i] = rows[i].Schedule
	}
	if err := s.schedules.NextRuns(ctx, tx, list); err != nil {
		return err
	}
	for _, sc := range list {
		if at := sc.RunsAt(); !at.IsZero() {
			o.Next = append(o.Next, view.Next{Namespace: sc.Namespace, Schedule: sc.Name, Zone: sc.Zone, NextAt: at})
		}
	}
	slices.SortStableFunc(o.Next, func(a, b view.Next) int { return a.NextAt.Compare(b.NextAt) })
	return nil
}

func (s *Store) overviewAhead(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	o.Ahead, err = s.schedules.ForecastIn(ctx, tx, schedule.Ahead{Namespace: namespace}.WithDefaults(o.Now), overviewAhead)
	o.Starts, o.Ahead.Loads = quarters(o.Ahead.Loads), []schedule.Load{}
	return err
}

// overviewIncidents lists outages outside of maintenance first, so that no number of planned outages hides one. It reads a bounded
// number of rows.
func (s *Store) overviewIncidents(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	var planned []monitor.Incident
	p := core.Page[monitor.Incident]{Next: "first"}
	for before, pages := int64(math.MaxInt64), 0; p.Next != "" && !o.MoreIncidents; pages++ {
		if pages == overviewOutages {
			o.MoreIncidents = true // it is not known
			break
		}
		w := &base.Where{}
		w.Namespace("namespace", namespace)
		w.Conds = append(w.Conds, "ended_at = 0")
		w.And("id < ?", before)
		if err := s.monitors.IncidentPage(ctx, tx, w, overviewRows, &p); err != nil {
			return err
		}
		for _, i := range p.Items {
			before = i.ID
			switch {
			case i.Maintenance:
				planned = append(planned, i)
			case len(o.Incidents) < overviewRows:
				o.Incidents = append(o.Incidents, i)
			default:
				o.MoreIncidents = true
			}
		}
	}
	o.Incidents = append(o.Incidents, planned[:min(len(planned), overviewRows-len(o.Incidents))]...)
	return nil
}
