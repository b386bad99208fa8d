package quotas

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// countFor is the largest age of a count by which jobs are admitted. The next count includes jobs that are never refused, such as
// retries and steps of workflows.
const countFor = 5 * time.Second

// countShare limits counting to 1/countShare of the time: a count without capacity is not repeated before.
const countShare = 20

// marked is how long after a change of quotas every node marks its new jobs.
const marked = 2 * follow

// use is a row of quota_use.
type use struct {
	counted, added      int
	counts              int64
	countedAt, markedAt int64
	nextAt              int64
}

// lastCount is a count of an earlier transition, kept in memory: it may have been rolled back with the refused jobs.
type lastCount struct {
	counts       int64 // of the row at that time
	count, added int
	until        time.Time // when to count again
}

// account is a row of quota_use that a transition has locked.
type account struct {
	use
	owner string
	sure  bool // this transition has counted the jobs, or admitted jobs that may not be written yet
}

// accounts are the accounts of a transition, by owner.
type accounts map[string]*account

// lock locks and reads a row of quota_use.
func (c *Change) lock(owner string) (*account, bool, error) {
	kept := base.Kept[accounts](c.Change)
	if a := (*kept)[owner]; a != nil {
		return a, true, nil
	}
	u, found, err := base.First(c.Ctx, c.Tx, func(rows base.Rows) (u use, err error) {
		return u, rows.Scan(&u.counted, &u.added, &u.counts, &u.countedAt, &u.markedAt, &u.nextAt)
	}, `
		select counted, added, counts, counted_at, marked_at, next_at
		from belfry.quota_use
		where owner = $1`+c.SQL.ForUpdate("quota_use"), owner)
	if err != nil || !found { // the quota was removed, and this node does not know it yet
		return nil, false, err
	}
	if *kept == nil {
		*kept = accounts{}
	}
	a := &account{use: u, owner: owner}
	(*kept)[owner] = a
	return a, true, nil
}

func (c *Change) save(a *account) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.quota_use
		set counted = $2, added = $3, counts = $4, counted_at = $5, marked_at = $6, next_at = $7
		where owner = $1`, a.owner, a.counted, a.added, a.counts, a.countedAt, a.markedAt, a.nextAt)
	return err
}

// mark marks the jobs that are older than the quota of their namespace, so that they count.
func (c *Change) mark(namespace string) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set metered = 1
		where id in (select id from belfry.jobs where namespace = $1 and metered = 0 order by id`+c.SQL.ForUpdate("jobs")+`)`, namespace)
	return err
}

// waitingJobs counts the waiting jobs of a namespace: they have not ended and do not run.
const waitingJobs = `
	select (select count(*) from belfry.jobs where namespace = $1 and metered = 1)
		- (select count(*) from belfry.running r join belfry.jobs j on j.id = r.job_id where j.namespace = $1 and j.metered = 1)`

// waiting returns an upper bound of the number of waiting jobs. It counts them if there seems to be no capacity for want more.
func (c *Change) waiting(n access.Namespace, a *account, want int) (int, error) {
	used, held := a.counted+a.added, false
	if a.sure {
		return used, nil
	}
	c.s.mu.Lock()
	if seen, ok := c.s.lastCounts[a.owner]; ok && seen.counts == a.counts && seen.added <= a.added {
		used, held = min(used, seen.count+a.added-seen.added), time.Now().Before(seen.until)
	}
	c.s.mu.Unlock()
	if age := base.Micros(c.Now) - a.countedAt; age >= 0 && age < countFor.Microseconds() && (held || used+want <= n.Quota.Waiting) {
		return used, nil
	}
	if to := n.UpdatedAt.Add(marked); a.markedAt < base.Micros(to) && !c.Now.Before(to) {
		if err := c.mark(n.Name); err != nil {
			return 0, err
		}
		a.markedAt = base.Micros(c.Now)
	}
	begun := time.Now()
	count, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, waitingJobs, n.Name)
	if err != nil {
		return 0, err
	}
	seen := lastCount{a.counts, int(count), a.added, time.Now().Add(countShare * time.Since(begun))}
	c.s.mu.Lock()
	c.s.lastCounts[a.owner] = seen
	c.s.mu.Unlock()
	a.counted, a.added, a.countedAt = int(count), 0, base.Micros(c.Now)
	a.counts++
	a.sure = true
	return int(count), nil
}

// Metered returns 1 for a namespace whose new jobs are counted.
func (c *Change) Metered(namespace string) (int, error) {
	n, has, err := c.of(namespace)
	return base.Bit(has && n.Quota.Waiting > 0), err
}

// Admit admits n new jobs, or refuses all of them if a quota has no capacity. The func at returns the namespace and the active
// key of a job. Admitted jobs are counted, and have to be written by the same transition. With tell, it reports a refusal to
// the observer; without tell the caller does, because jobs that were refused together may be tried again alone.
func (c *Change) Admit(tell bool, n int, at func(i int) (namespace, activeKey string)) error {
	asked := map[string]int{}
	for i := range n {
		namespace, _ := at(i)
		asked[namespace]++
	}
	err := c.admitAll(asked)
	if core.CodeOf(err) == core.OverQuota {
		left, failed := c.leaveOut(n, at, asked)
		switch {
		case failed != nil:
			return failed
		case left > 0:
			err = c.admitAll(asked)
		}
	}
	if tell {
		c.s.TellOver(err)
	}
	return err
}

// leaveOut subtracts from the requests the jobs whose active key is held: they are not made, and need no capacity.
func (c *Change) leaveOut(n int, at func(int) (namespace, activeKey string), asked map[string]int) (left int, err error) {
	var active []keys.Active
	for i := range n {
		if namespace, key := at(i); key != "" {
			active = append(active, keys.Active{Namespace: namespace, Key: key})
		}
	}
	held, err := keys.HeldBy(c.Change, active)
	for _, a := range active {
		if held[a] > 0 {
			asked[a.Namespace]--
			left++
		}
	}
	return left, err
}

// TellOver reports a refusal to the observer.
func (s *Store) TellOver(err error) {
	var over *Over
	if errors.As(err, &over) && over.told.CompareAndSwap(false, true) {
		s.Opt.Observer.OverQuota(over.Namespace, over.Quota)
	}
}

func (c *Change) admitAll(jobs map[string]int) error {
	admitted := map[*account]use{}
	for _, namespace := range slices.Sorted(maps.Keys(jobs)) { // in one order, because each row is locked
		n, has, err := c.of(namespace)
		if err == nil && has && jobs[namespace] > 0 && n.Quota.OfJobs() {
			err = c.admit(n, jobs[namespace], admitted)
		}
		if err != nil {
			return err
		}
	}
	for a, u := range admitted {
		a.use, a.sure = u, true
		if err := c.save(a); err != nil {
			return err
		}
	}
	return nil
}

func (c *Change) admit(n access.Namespace, jobs int, admitted map[*account]use) error {
	a, found, err := c.lock(ownerOf(n.Name))
	if err != nil || !found {
		return err
	}
	if most := n.Quota.Waiting; most > 0 {
		used, err := c.waiting(n, a, jobs)
		if err != nil {
			return err
		}
		if used+jobs > most {
			return refuse(n, access.QuotaWaiting, int64(most), int64(used), int64(jobs), time.Second)
		}
	}
	u := a.use
	u.added += jobs
	if pace := n.Quota.EnqueuePace(); !pace.IsZero() {
		now := base.Micros(c.Now)
		then, ok, from := pace.TakeAll(jobs, a.nextAt, now)
		if !ok {
			most, wait := pace.Burst(), time.Duration(from-now)*time.Microsecond
			return refuse(n, access.QuotaEnqueueRate, int64(most), int64(most), int64(jobs), wait)
		}
		u.nextAt = then
	}
	admitted[a] = u
	return nil
}

// Room returns the capacity of a namespace for waiting jobs, and why it has no more. It counts at most until want is covered.
// limited is false without a quota. The rate of enqueues does not apply: the callers are schedules.
func (c *Change) Room(namespace string, want int) (left int, why string, limited bool, err error) {
	n, has, err := c.of(namespace)
	if err != nil || !has || n.Quota.Waiting == 0 {
		return 0, "", false, err
	}
	a, found, err := c.lock(ownerOf(namespace))
	if err != nil || !found {
		return 0, "", false, err
	}
	used, err := c.waiting(n, a, want)
	return max(n.Quota.Waiting-used, 0), refusalNote(n, used), true, err
}

// Take counts jobs for which [Change.Room] had capacity.
func (c *Change) Take(namespace string, jobs int) error {
	a, found, err := c.lock(ownerOf(namespace))
	if err != nil || !found || jobs == 0 {
		return err
	}
	a.added += jobs
	a.sure = true
	return c.save(a)
}
