package bounds

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// use is the row of a queue in queue_bounds.
type use struct {
	since, counts, countedAt int64
	counted, added           int
	markedTo                 int64
}

// lastCount is a count of an earlier transition, kept in memory: it may have been rolled back with the refused jobs.
type lastCount struct {
	since, counts int64 // of the row at that time
	count, added  int
	until         time.Time // when to count again
}

// account is a row of queue_bounds that a transition has locked.
type account struct {
	use
	q      job.Queue
	sure   bool           // this transition has counted the jobs, or admitted jobs
	exact  bool           // this transition has counted the jobs
	picked map[int64]bool // jobs that this transition drops
}

// accounts are the accounts of a transition, by queue.
type accounts map[string]*account

// lock locks and reads the row of a queue.
func (c *Change) lock(q job.Queue) (*account, bool, error) {
	kept := base.Kept[accounts](c.Change)
	if a := (*kept)[q.Name]; a != nil {
		return a, true, nil
	}
	u, found, err := base.First(c.Ctx, c.Tx, func(rows base.Rows) (u use, err error) {
		return u, rows.Scan(&u.since, &u.counted, &u.added, &u.counts, &u.countedAt, &u.markedTo)
	}, `
		select since, counted, added, counts, counted_at, marked_to
		from belfry.queue_bounds
		where queue = $1`+c.SQL.ForUpdate("queue_bounds"), q.Name)
	if err != nil || !found { // the bound was just removed
		return nil, false, err
	}
	if *kept == nil {
		*kept = accounts{}
	}
	a := &account{use: u, q: q, picked: map[int64]bool{}}
	(*kept)[q.Name] = a
	return a, true, nil
}

func (c *Change) save(a *account) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.queue_bounds
		set counted = $2, added = $3, counts = $4, counted_at = $5, marked_to = $6
		where queue = $1`, a.q.Name, a.counted, a.added, a.counts, a.countedAt, a.markedTo)
	return err
}

// waiting returns an upper bound of the number of waiting jobs. It counts them if there seems to be no capacity for want more.
// With first, it always counts at first in a queue that drops jobs: for callers that do not write admitted jobs at once.
func (c *Change) waiting(a *account, want int, first bool) (int, error) {
	used, held, drops := a.counted+a.added, false, a.q.OnFull == job.OnFullDropOldest
	first = first && drops && !a.exact
	if a.sure && !first && (a.exact || !drops || used+want <= a.q.MaxWaiting) {
		return used, nil
	}
	if !drops { // an old count would drop too many jobs
		c.s.mu.Lock()
		if seen, ok := c.s.lastCounts[a.q.Name]; ok && seen.since == a.since && seen.counts == a.counts && seen.added <= a.added {
			used, held = min(used, seen.count+a.added-seen.added), time.Now().Before(seen.until)
		}
		c.s.mu.Unlock()
	}
	age, marked := base.Micros(c.Now)-a.countedAt, a.markedTo < 0
	if !first && !a.sure && age >= 0 && age < countFor.Microseconds() && (held || marked && used+want <= a.q.MaxWaiting) {
		return used, nil
	}
	begun := time.Now()
	count, err := c.count(a, want)
	if err != nil {
		return 0, err
	}
	if !marked && count+want <= a.q.MaxWaiting {
		if err := c.markOld(a); err != nil {
			return 0, err
		}
		if count, err = c.count(a, want); err != nil {
			return 0, err
		}
	}
	seen := lastCount{a.since, a.counts, count, a.added, time.Now().Add(countShare * time.Since(begun))}
	c.s.mu.Lock()
	c.s.lastCounts[a.q.Name] = seen
	c.s.mu.Unlock()
	a.counted, a.added, a.countedAt = count, 0, base.Micros(c.Now)
	a.counts++
	a.sure, a.exact = true, true
	return count, nil
}

// count counts the waiting jobs of a queue, only as far as needed to know whether there is capacity for want more, and how many
// jobs have to be dropped.
func (c *Change) count(a *account, want int) (int, error) {
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		with busy as (
			select count(*) as jobs
			from belfry.running r
			join belfry.jobs j on j.id = r.job_id
			where j.queue = $1 and j.bounded > 0)
		select (
			select count(*)
			from (select 1 from belfry.jobs where queue = $1 and bounded > 0 limit $2 + (select jobs from busy)) as bounded)
			- (select jobs from busy)`, a.q.Name, a.q.MaxWaiting+want+shed+1)
	return int(n), err
}

// markOld marks jobs that are older than the bound of their queue, so that they count: some of them in each call. It skips jobs
// that another transaction is changing.
func (c *Change) markOld(a *account) error {
	type old struct {
		id   int64
		mine int64
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (o old, err error) {
		return o, rows.Scan(&o.id, &o.mine)
	}, `
		select id, case when queue = $1 and bounded = 0 and kind not in ('cycle', 'workflow') then 1 else 0 end
		from belfry.jobs
		where id > $2
		order by id
		limit $3 + 0`, a.q.Name, a.markedTo, markStep)
	if err != nil {
		return err
	}
	var ids []int64
	for _, o := range rows {
		a.markedTo = o.id
		if o.mine != 0 {
			ids = append(ids, o.id)
		}
	}
	if len(rows) < markStep && base.Micros(c.Now)-a.since > settled.Microseconds() {
		a.markedTo = -1
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set bounded = case when attempt > 0 or trigger in ('check', 'cycle', 'step') then 2 else 1 end
		where id in (select id from belfry.jobs where `+c.SQL.In("id", 1)+` order by id`+c.SQL.SkipLocked("jobs")+`)`, c.SQL.List(ids))
	return err
}
