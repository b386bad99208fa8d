package views

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// Bounds of the reads for the list "needs attention" of an overview.
const (
	usualRuns  = 20        // past runs of a task; their median is the usual duration
	lostWithin = time.Hour // age of the worker losses shown
	lateAfter  = 10 * time.Second
	afterwards = 100 // newest jobs of a task that are looked at
	pastAtOnce = 100 // and that are read at once
)

// overviewDay sums ended jobs by half hours. It sums the same rows as the count of failures.
func (s *Store) overviewDay(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	w := &base.Where{}
	w.Namespace("namespace", namespace)
	first := history.MinuteOf(o.Now.Add(-base.OneDay)) / view.DayStep * view.DayStep
	w.And("minute >= ?", first)
	o.Day, err = base.Collect(ctx, tx, func(r base.Rows) (m job.MinuteTotals, err error) {
		var part, ran, lag, most int64
		err = r.Scan(&part, &m.OK, &m.Failed, &m.Canceled, &m.Skipped, &ran, &m.Started, &lag, &most)
		m.Minute = time.Unix(part*view.DayStep*60, 0).UTC()
		m.Ran, m.Lag, m.LagMost = history.InMicros(ran), history.InMicros(lag), history.InMicros(most)
		return m, err
	}, `
		select minute / `+strconv.Itoa(view.DayStep)+` as part, cast(sum(ok) as bigint), cast(sum(failed) as bigint), cast(sum(canceled) as bigint), cast(sum(skipped) as bigint),
			cast(sum(ran) as bigint), cast(sum(started) as bigint), cast(sum(lag) as bigint), cast(max(lag_most) as bigint)
		from belfry.job_minutes
		where `+w.Sql()+`
		group by 1
		order by 1`, w.Args...)
	if o.Day == nil {
		o.Day = []job.MinuteTotals{}
	}
	return err
}

// overviewLatest adds the jobs that ended since the last roll-up. Without them the figures would lag a minute behind the lists.
func (s *Store) overviewLatest(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	latest, err := s.history.LatestIn(ctx, tx, namespace, o.Now)
	for _, m := range latest.Minutes("") {
		o.Minutes = append(o.Minutes, m)
		o.Failures += m.Failed
		at := m.Minute.Truncate(view.DayStep * time.Minute)
		if n := len(o.Day); n == 0 || !o.Day[n-1].Minute.Equal(at) {
			o.Day = append(o.Day, job.MinuteTotals{Minute: at})
		}
		o.Day[len(o.Day)-1].Add(m)
	}
	for i := range o.Queues {
		for _, m := range latest.Over(o.Queues[i].Queue) {
			o.Queues[i].Rate.Add(m)
		}
	}
	return err
}

// latestFailed returns the newest base.LookFirst failed jobs of a namespace, as a table with the condition that its rows are of the
// namespace and the arguments of both. Jobs of other namespaces are passed over, of overviewPassed in all; cut tells that this
// leaves out a part of the last day.
func (s *Store) latestFailed(ctx context.Context, tx base.Tx, namespace string, now time.Time) (table string, w *base.Where, cut bool, err error) {
	w = &base.Where{Conds: []string{"state = 'failed'"}}
	w.Namespace("namespace", namespace)
	if namespace != core.AnyNamespace {
		type passed struct{ id, finished int64 }
		p, is, err := base.First(ctx, tx, func(r base.Rows) (p passed, err error) { return p, r.Scan(&p.id, &p.finished) }, `
			select id, finished_at
			from belfry.jobs_done
			where id = (select id from belfry.jobs_done where state = 'failed' order by id desc limit 1 offset `+strconv.Itoa(overviewPassed)+`)`)
		if err != nil {
			return "", nil, false, err
		}
		if is {
			w.And("id >= ?", p.id)
			cut = p.finished >= base.Micros(now.Add(-base.OneDay))
		}
	}
	return `(
			select *
			from belfry.jobs_done
			where id in (select id from belfry.jobs_done where ` + w.Sql() + ` order by id desc limit ` + strconv.Itoa(base.LookFirst) + `)) as latest`, w, cut, nil // found in the index alone
}

// overviewFailing groups the latest failures by task, and leaves out tasks that have succeeded since. Checks of monitors are
// shown by their incidents.
func (s *Store) overviewFailing(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) error {
	failed, w, cut, err := s.latestFailed(ctx, tx, namespace, o.Now)
	if err != nil {
		return err
	}
	w.NotOwnedTask("task")
	w.And("finished_at >= ?", base.Micros(o.Now.Add(-base.OneDay)))
	latest, err := base.Collect(ctx, tx, func(r base.Rows) (f view.Failing, err error) {
		err = r.Scan(&f.JobID, &f.Namespace, &f.Task, &f.Schedule, &f.Error, base.ScanTime(&f.Last))
		return f, err
	}, `
		select id, namespace, task, schedule, error, finished_at
		from `+failed+`
		where `+w.Sql()+`
		order by id desc`, w.Args...)
	if err != nil {
		return err
	}
	o.MoreFailing = cut && o.Failures > int64(len(latest)) // of a namespace whose failures are all found, no more are failing
	o.Failing = []view.Failing{}
	type of struct{ namespace, task string }
	at := map[of]int{}
	for _, f := range latest {
		i, known := at[of{f.Namespace, f.Task}]
		if !known {
			i = len(o.Failing)
			at[of{f.Namespace, f.Task}] = i
			f.Error, _ = core.CleanText(f.Error, 500)
			f.First = f.Last
			o.Failing = append(o.Failing, f)
		}
		g := &o.Failing[i]
		g.Jobs++
		if f.Last.Before(g.First) {
			g.First = f.Last
		}
		if f.Last.After(g.Last) { // it was retried, or ran longer than a newer one
			g.JobID, g.Schedule, g.Last = f.JobID, f.Schedule, f.Last
			g.Error, _ = core.CleanText(f.Error, 500)
		}
	}
	slices.SortStableFunc(o.Failing, func(a, b view.Failing) int { return b.Last.Compare(a.Last) })
	if len(o.Failing) > 2*overviewRows {
		o.MoreFailing = true // it is not known whether they have succeeded since
		o.Failing = o.Failing[:2*overviewRows]
	}
	kept := []view.Failing{}
	for _, f := range o.Failing {
		good, err := s.succeededSince(ctx, tx, f)
		if err != nil {
			return err
		}
		if good {
			continue
		}
		if len(kept) == overviewRows {
			o.MoreFailing = true
			break
		}
		kept = append(kept, f)
	}
	o.Failing = kept
	return nil
}

// pastJob is a job that ended, as far as the overview needs it.
type pastJob struct {
	id, claimed, ended int64
	namespace, state   string
}

// eachPast calls visit with the jobs of a task that ended, the newest first, until it returns false. Tasks of other namespaces
// may have the same name: their jobs are passed over, of base.LookFirst jobs in all.
func (s *Store) eachPast(ctx context.Context, tx base.Tx, namespace, task string, visit func(j pastJob) bool) error {
	before := int64(math.MaxInt64)
	for read := 0; read < base.LookFirst; {
		newest, err := base.Collect(ctx, tx, func(r base.Rows) (j pastJob, err error) {
			return j, r.Scan(&j.id, &j.namespace, &j.state, &j.claimed, &j.ended)
		}, `
			select id, namespace, state, claimed_at, finished_at
			from belfry.jobs_done
			where task = $1 and id < $2
			order by id desc
			limit `+strconv.Itoa(pastAtOnce), task, before)
		if err != nil {
			return err
		}
		for _, j := range newest {
			if before = j.id; j.namespace == namespace && !visit(j) {
				return nil
			}
		}
		if read += len(newest); len(newest) < pastAtOnce {
			return nil
		}
	}
	return nil
}

// succeededSince tells whether a job of the task ended well after its last failure.
func (s *Store) succeededSince(ctx context.Context, tx base.Tx, f view.Failing) (good bool, err error) {
	seen := 0
	err = s.eachPast(ctx, tx, f.Namespace, f.Task, func(j pastJob) bool {
		seen++
		good = j.state == string(job.Succeeded) && j.ended > base.Micros(f.Last)
		return !good && seen < afterwards
	})
	return good, err
}

// overviewUsual sets the usual duration of running tasks, from their last successful runs.
func (s *Store) overviewUsual(ctx context.Context, tx base.Tx, _ string, o *view.Overview) error {
	type of struct{ namespace, task string }
	known := map[of]core.Duration{}
	for i := range o.Running {
		r := &o.Running[i]
		key := of{r.Namespace, r.Task}
		usual, looked := known[key]
		if !looked {
			var took []int64
			seen := 0
			if err := s.eachPast(ctx, tx, r.Namespace, r.Task, func(j pastJob) bool {
				if seen++; j.state == string(job.Succeeded) && j.claimed > 0 && j.ended >= j.claimed {
					took = append(took, j.ended-j.claimed)
				}
				return len(took) < usualRuns && seen < afterwards
			}); err != nil {
				return err
			}
			if len(took) > 0 {
				slices.Sort(took)
				usual = history.InMicros(took[len(took)/2])
			}
			known[key] = usual
		}
		r.Usual = usual
	}
	return nil
}

// overviewLost lists lost workers for a namespace that have not come back under the same name.
func (s *Store) overviewLost(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	o.Lost, err = base.Collect(ctx, tx, func(r base.Rows) (l view.LostWorker, err error) {
		return l, r.Scan(&l.Session, &l.Name, base.ScanTime(&l.At))
	}, `
		select id, name, ended_at
		from belfry.sessions s
		where lost > 1 and ended_at >= $1 and ($2 = '*' or namespace in ('', '*', $2))
			and not exists (select 1 from belfry.sessions n where n.ended_at = 0 and n.name = s.name and n.namespace = s.namespace)
		order by ended_at desc
		limit `+strconv.Itoa(overviewRows+1), base.Micros(o.Now.Add(-lostWithin)), namespace)
	if o.MoreLost = len(o.Lost) > overviewRows; o.MoreLost {
		o.Lost = o.Lost[:overviewRows]
	}
	if o.Lost == nil {
		o.Lost = []view.LostWorker{}
	}
	return err
}

// overviewLate lists overdue schedules, the most overdue first.
func (s *Store) overviewLate(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	w := &base.Where{}
	w.And("next_at <= ?", base.Micros(o.Now.Add(-lateAfter)))
	w.Namespace("namespace", namespace)
	o.Late, err = base.Collect(ctx, tx, func(r base.Rows) (n view.Next, err error) {
		return n, r.Scan(&n.Namespace, &n.Schedule, base.ScanTime(&n.NextAt))
	}, `
		select namespace, name, next_at
		from (select namespace, name, next_at from belfry.schedules where next_at > 0 order by next_at limit `+strconv.Itoa(base.LookFirst)+`) as soon
		where `+w.Sql()+`
		order by next_at, name
		limit `+strconv.Itoa(overviewRows+1), w.Args...)
	if o.MoreLate = len(o.Late) > overviewRows; o.MoreLate {
		o.Late = o.Late[:overviewRows]
	}
	if o.Late == nil {
		o.Late = []view.Next{}
	}
	return err
}

// overviewApprovals lists runs of workflows that wait for an approval, those that wait longest first.
func (s *Store) overviewApprovals(ctx context.Context, tx base.Tx, namespace string, o *view.Overview) (err error) {
	w := &base.Where{Conds: []string{"asked_at > 0"}}
	w.Namespace("namespace", namespace)
	o.Approvals, err = base.Collect(ctx, tx, func(r base.Rows) (a workflow.Asked, err error) {
		var moved int64
		err = r.Scan(base.ScanDoc(&a), &moved)
		a.Move(time.Duration(moved) * time.Microsecond)
		return a, err
	}, `
		select asked, (select total from belfry.clock) - clock
		from belfry.workflow_runs
		where `+w.Sql()+`
		order by asked_at, job_id
		limit `+strconv.Itoa(overviewRows+1), w.Args...)
	if o.MoreApprovals = len(o.Approvals) > overviewRows; o.MoreApprovals {
		o.Approvals = o.Approvals[:overviewRows]
	}
	if o.Approvals == nil {
		o.Approvals = []workflow.Asked{}
	}
	return err
}

// quarters sums the starts of a forecast by quarters of an hour.
func quarters(loads []schedule.Load) []view.Starts {
	all := []view.Starts{}
	for _, l := range loads {
		at := l.Minute.Truncate(15 * time.Minute)
		if len(all) == 0 || !all[len(all)-1].At.Equal(at) {
			all = append(all, view.Starts{At: at})
		}
		all[len(all)-1].Starts += l.Starts
	}
	return all
}
