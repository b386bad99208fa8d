package limits

import (
	"context"
	"strings"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/turns"
)

// promoteBatch bounds the jobs that become ready in one transaction.
const promoteBatch = 2000

// Promote makes due jobs ready: delayed jobs, snoozed jobs, and retries.
func (s *Store) Promote(ctx context.Context) (out job.Promoted, err error) {
	err = s.Write(ctx, "promote", func(b *base.Change) error {
		c := s.In(b)
		out = job.Promoted{Now: c.Now}
		from := c.LookFrom(&s.Delayed)
		begun := time.Now()
		withLimits, err := c.LimitedJobs()
		if err != nil {
			return err
		}
		queues, turned, err := c.promote(from.After, withLimits)
		if err != nil {
			return err
		}
		if withLimits != "" {
			more, limited, err := c.promoteLimited(from.After, withLimits)
			if err != nil {
				return err
			}
			queues = append(queues, more...)
			turned.Add(limited)
		}
		if err := c.turns().PlaceAgain(turned); err != nil { // limit keys are locked before keys of fair queues
			return err
		}
		from.Took = time.Since(begun)
		out.Jobs = len(queues)
		for _, q := range base.Unique(queues) {
			if q == " " { // the job waits for a limit
				c.Wake(base.TopicJobs)
				continue
			}
			if q == "" { // a cycle or workflow, which the engine runs
				c.Wake(base.TopicEngine)
				continue
			}
			c.Wake(base.TopicQueue(q))
			c.Wake(base.TopicJobs) // for claims that wait for several queues
		}
		begun = time.Now()
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select due_at from belfry.jobs where state = 'scheduled' and due_at > $1 order by due_at limit 1`, from.After)
		out.NextAt = base.Instant(next)
		from.Took += time.Since(begun)
		c.Looked(&s.Delayed, from, next)
		return err
	})
	if err != nil {
		return out, err
	}
	return s.addWaiting(ctx, out)
}

// LimitedJobs returns the SQL condition on jobs that may have to wait for a limit; empty if there are no limits.
func (c *Change) LimitedJobs() (string, error) {
	limited, err := c.tasks().AnyLimited()
	if err != nil {
		return "", err
	}
	ofQueues, ofNamespaces, err := c.s.queues.In(c.Change).AnyLimits()
	if err != nil {
		return "", err
	}
	var withLimits []string
	if limited {
		withLimits = append(withLimits, `task_id in (select id from belfry.tasks where limited = 1)`)
	}
	if ofQueues {
		withLimits = append(withLimits, `queue in (select name from belfry.queues where limits <> '')`)
	}
	if ofNamespaces {
		withLimits = append(withLimits, `namespace in (select name from belfry.namespaces where limits <> '')`)
	}
	if len(withLimits) == 0 {
		return "", nil
	}
	return `(` + strings.Join(withLimits, ` or `) + `)`, nil
}

// promote makes due jobs ready, without the jobs that withLimits selects. It returns the queue of each job, empty for
// cycles and workflows, and the jobs of fair queues, which need a turn.
func (c *Change) promote(after int64, withLimits string) (queues []string, turned turns.Again, err error) {
	others := ``
	if withLimits != "" {
		others = ` and not ` + withLimits
	}
	queues, err = base.Collect(c.Ctx, c.Tx, turned.Scan, `
		with due as materialized (
			select id, due_at
			from belfry.jobs
			where state = 'scheduled' and due_at > $3 and due_at <= $1`+others+`
			order by due_at
			limit $2 + 0`+c.SQL.SkipLocked("jobs")+`),
		placed as materialized (select id, row_number() over (order by due_at, id) as place from due)
		update belfry.jobs
		set state = 'ready', reason = '', ready_at = $1 + place - 1, turn = $1 + place - 1, -- in the order of their due times
			limited = `+stillLimited("limited")+`
		from placed
		where belfry.jobs.id = placed.id
		returning case when kind in ('cycle', 'workflow') then '' else queue end, belfry.jobs.id, `+turns.BaseOf+``, base.Micros(c.Now), promoteBatch, after)
	return queues, turned, err
}

// stillLimited is an SQL expression: 1 for a job that was limited before and still has a key. Limits may have been deleted while
// a job waited for a retry; if limits are added later, they have to hold the job back again.
func stillLimited(before string) string {
	return `case when ` + before + ` = 0 then 0 else (select count(*) from (select 1 from belfry.limit_jobs l where l.job_id = belfry.jobs.id limit 1) as one) end`
}

// dueJob is a due job of an owner with limits.
type dueJob struct {
	job.Job
	TaskID  int64
	limited bool
}

// dueRow is the new state of a due job, as a row of a batch.
type dueRow struct {
	ID      int64  `json:"id"`
	State   string `json:"state"`
	ReadyAt int64  `json:"ready_at"`
	Limited int    `json:"limited"`
	Reason  string `json:"reason"`
}

// promoteLimited promotes due jobs that withLimits selects, as many as have room in memory: each is admitted or waits. It returns what promote
// returns, and " " for a job that waits.
func (c *Change) promoteLimited(after int64, withLimits string) (queues []string, turned turns.Again, err error) {
	var tasks []int64
	due, _, err := base.CollectSome(c.Ctx, c.Tx, promoteBatch, nil, func(rows base.Rows) (j dueJob, err error) {
		var input *string
		var limited int64
		err = rows.Scan(&j.ID, &j.TaskID, &j.Namespace, &j.Task, &j.Kind, &j.Queue, &j.Priority, &input, &limited)
		j.limited = limited != 0
		j.Input = base.RawJSON(input)
		tasks = append(tasks, j.TaskID)
		return j, err
	}, `
		select id, task_id, namespace, task, kind, queue, priority, input, limited
		from belfry.jobs
		where state = 'scheduled' and due_at > $3 and due_at <= $1 and `+withLimits+`
			and id not in (select job_id from belfry.limit_left) -- the engine has to release these first
		order by due_at, id
		limit $2 + 0`+c.SQL.SkipLocked("jobs"), base.Micros(c.Now), promoteBatch, after)
	if err != nil || len(due) == 0 {
		return nil, turned, err
	}
	byID, err := c.tasks().TasksByID(base.Unique(tasks))
	if err != nil {
		return nil, turned, err
	}
	rules, err := c.rulesOf(len(due), func(i int) *job.Job { return &due[i].Job })
	if err != nil {
		return nil, turned, err
	}
	var as []*admission
	rows, ids := make([]dueRow, len(due)), make([]int64, len(due))
	of := map[int64]*admission{}
	for i := range due {
		j := &due[i]
		rows[i], ids[i] = dueRow{ID: j.ID, State: string(job.Ready), ReadyAt: base.Micros(c.Now) + int64(i), Limited: base.Bit(j.limited)}, j.ID
		if gates := rules.gates(job.GatesOf(byID[j.TaskID]), &j.Job); len(gates) > 0 {
			a := &admission{Job: &j.Job, gates: gates, again: j.limited}
			as, of[j.ID] = append(as, a), a
		}
	}
	if len(as) > 0 {
		if err := c.admitDue(as); err != nil {
			return nil, turned, err
		}
	}
	for i := range rows {
		if a := of[rows[i].ID]; a != nil {
			if rows[i].Limited = 1; !a.admitted {
				rows[i].State, rows[i].ReadyAt, rows[i].Reason = string(job.Waiting), 0, string(Reason)
			}
		}
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	queues, err = base.Collect(c.Ctx, c.Tx, turned.Scan, `
		update belfry.jobs
		set state = t.state, ready_at = t.ready_at, turn = t.ready_at, limited = `+stillLimited("t.limited")+`, reason = t.reason
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1)+`
		returning case when belfry.jobs.kind in ('cycle', 'workflow') then '' when belfry.jobs.state = 'waiting' then ' ' else belfry.jobs.queue end, belfry.jobs.id, `+turns.BaseOf, append([]any{c.SQL.List(ids)}, args...)...)
	return queues, turned, err
}

// addWaiting admits waiting jobs, and adds their number and the time of the next pass to a promotion.
func (s *Store) addWaiting(ctx context.Context, out job.Promoted) (job.Promoted, error) {
	let, err := s.AdmitWaiting(ctx)
	out.Jobs += let.Jobs
	if next := let.NextAt; !next.IsZero() && (out.NextAt.IsZero() || next.Before(out.NextAt)) {
		out.NextAt = next
	}
	if out.Now.IsZero() {
		out.Now = let.Now
	}
	return out, err
}
