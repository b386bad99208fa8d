package bounds

import (
	"errors"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// want is a request for a queue.
type want struct {
	jobs   int
	lowest int // lowest priority of the jobs
}

// Admit admits n new jobs, or refuses all of them if a quota or a queue has no capacity. Admitted jobs are counted, and have to be
// written by the same transition. In a queue that drops the oldest, it drops as many jobs as needed. With tell, it reports a
// refusal to the observer; without tell the caller does, because jobs that were refused together may be tried again alone.
func (c *Change) Admit(tell bool, n int, at func(i int) *job.Job) error {
	if err := c.s.quotas.In(c.Change).Admit(tell, n, func(i int) (string, string) { return at(i).Namespace, at(i).ActiveKey }); err != nil {
		return err
	}
	bounded, err := c.Of(queuesOf(n, at))
	if err != nil || len(bounded) == 0 {
		return err
	}
	asked := map[string]want{}
	for i := range n {
		if j := at(i); bounded[j.Queue].Bounded() && counts(j) {
			asked[j.Queue] = asked[j.Queue].and(j)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	over, err := c.overflows(bounded, asked)
	if err != nil {
		return err
	}
	if over { // jobs whose active key is held are not made, and no job is dropped for them
		if asked, err = c.withoutHeld(n, at, bounded); err != nil {
			return err
		}
		if err := c.refuseOver(bounded, asked); err != nil {
			if tell {
				c.s.TellRefused(err)
			}
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if err := c.take(bounded[name], asked[name]); err != nil {
			return err
		}
	}
	return c.DropPicked()
}

// TellRefused reports a refusal to the observer.
func (s *Store) TellRefused(err error) {
	s.quotas.TellOver(err)
	var f *Full
	if errors.As(err, &f) {
		f.told.Do(func() { s.Opt.Observer.KeptOut(f.Queue, schedule.ReasonQueueFull, f.Jobs) })
	}
}

func (w want) and(j *job.Job) want {
	if w.jobs == 0 {
		w.lowest = j.Priority
	}
	return want{w.jobs + 1, min(w.lowest, j.Priority)}
}

// withoutHeld returns the requests by queue, without the jobs whose active key is held.
func (c *Change) withoutHeld(n int, at func(i int) *job.Job, bounded map[string]job.Queue) (map[string]want, error) {
	var active []keys.Active
	for i := range n {
		if j := at(i); j.ActiveKey != "" {
			active = append(active, activeOf(j))
		}
	}
	held, err := keys.HeldBy(c.Change, active)
	asked := map[string]want{}
	for i := range n {
		if j := at(i); bounded[j.Queue].Bounded() && counts(j) && held[activeOf(j)] == 0 {
			asked[j.Queue] = asked[j.Queue].and(j)
		}
	}
	return asked, err
}

func activeOf(j *job.Job) keys.Active {
	return keys.Active{Namespace: j.Namespace, Key: j.ActiveKey}
}

// overflows locks the rows of queues, and reports whether one of them has too little capacity.
func (c *Change) overflows(bounded map[string]job.Queue, asked map[string]want) (over bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(asked)) { // in one order, because each row is locked
		a, found, err := c.lock(bounded[name])
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		used, err := c.waiting(a, asked[name].jobs, false)
		if err != nil {
			return false, err
		}
		over = over || a.q.Overflow(used, asked[name].jobs) > 0
	}
	return over, nil
}

// refuseOver returns a refusal if a queue has too little capacity, and not enough of its jobs can be dropped.
func (c *Change) refuseOver(bounded map[string]job.Queue, asked map[string]want) error {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		q, w := bounded[name], asked[name]
		a, found, err := c.lock(q)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		used, err := c.waiting(a, w.jobs, false)
		if err != nil {
			return err
		}
		for {
			needed := min(q.Overflow(used, w.jobs), w.jobs)
			droppable, err := c.droppable(a, w, needed)
			if err != nil {
				return err
			}
			if droppable >= needed {
				break
			}
			now, err := c.fewer(a, w.jobs, used)
			if err != nil {
				return err
			}
			if now == used {
				return refuse(q, used, w.jobs, droppable)
			}
			used = now
		}
	}
	return nil
}

// droppable returns how many jobs can be dropped, up to needed.
func (c *Change) droppable(a *account, w want, needed int) (int, error) {
	if a.q.OnFull != job.OnFullDropOldest || w.jobs > a.q.MaxWaiting {
		return 0, nil
	}
	victims, err := c.victims(a, w.lowest, needed, c.SQL.SkipLocked("jobs"))
	if free := len(victims); err != nil || free >= needed || !c.s.Far || c.Foreign {
		return free, err
	}
	all, err := c.victims(a, w.lowest, needed, "") // other transactions may be changing some of them
	if err == nil && len(all) >= needed {
		err = base.Meets{Table: "jobs", IDs: all}
	}
	return len(victims), err
}

// fewer counts again before a queue that drops jobs refuses: a counted job may have ended since, and then cannot be dropped.
func (c *Change) fewer(a *account, want, used int) (int, error) {
	if a.q.OnFull != job.OnFullDropOldest || !c.s.Far || !a.exact || a.added > 0 {
		return used, nil
	}
	count, err := c.count(a, want)
	if err != nil || count >= used {
		return used, err
	}
	a.counted = count
	return count, nil
}

// take counts admitted jobs, and picks the jobs to drop for them.
func (c *Change) take(q job.Queue, w want) error {
	if w.jobs == 0 {
		return nil
	}
	a, found, err := c.lock(q)
	if err != nil || !found {
		return err
	}
	if over := q.Overflow(a.counted+a.added, w.jobs); over > 0 && a.sure && q.OnFull == job.OnFullDropOldest {
		victims, err := c.victims(a, w.lowest, min(over, w.jobs+shed), c.SQL.SkipLocked("jobs"))
		if err != nil {
			return err
		}
		for _, id := range victims {
			a.picked[id] = true
		}
		a.counted -= len(victims)
	}
	a.added += w.jobs
	a.sure = true
	return c.save(a)
}

// victims returns the jobs of a queue to drop, up to a priority: the lowest priority first, then the oldest. Jobs that run, have
// begun before, or follow from a begun run are never dropped. With lock, it locks them and skips jobs that another transaction is
// changing, which may wait for rows of this one.
func (c *Change) victims(a *account, upTo, most int, lock string) ([]int64, error) {
	spare := base.Kept[spared](c.Change).ids
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where queue = $1 and bounded > 0 and bounded = 1 and attempt = 0 and priority <= $2 and `+c.s.Unleased()+`
		order by priority, id
		limit $3 + 0`+lock, a.q.Name, upTo, most+len(a.picked)+len(spare))
	ids = slices.DeleteFunc(ids, func(id int64) bool { return a.picked[id] || slices.Contains(spare, id) })
	return ids[:min(len(ids), most)], err
}

// spared are jobs that a transition must not drop.
type spared struct{ ids []int64 }

// Spare keeps this transition from dropping some jobs, which it uses otherwise.
func (c *Change) Spare(ids []int64) {
	if len(ids) > 0 {
		base.Kept[spared](c.Change).ids = ids
	}
}

// DropPicked drops the picked jobs.
func (c *Change) DropPicked() error {
	all := *base.Kept[accounts](c.Change)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		if len(a.picked) == 0 {
			continue
		}
		ids := slices.Sorted(maps.Keys(a.picked))
		clear(a.picked)
		if err := c.s.Drop(c.Change, ids, a.q.DroppedNote()); err != nil {
			return err
		}
		c.Observe(func(o base.Observer) { o.KeptOut(name, job.ReasonDropped, len(ids)) })
	}
	return nil
}

// Room returns the capacity of a queue for jobs like j, up to wanted, and why it has no more. With drop, jobs that can be dropped
// add to the capacity. limited is false if the queue has no bound for such jobs.
func (c *Change) Room(j *job.Job, wanted int, drop bool) (room int, why string, limited bool, err error) {
	bounded, err := c.Of([]string{j.Queue})
	q := bounded[j.Queue]
	if err != nil || !q.Bounded() || !counts(j) {
		return 0, "", false, err
	}
	a, found, err := c.lock(q)
	if err != nil || !found {
		return 0, "", false, err
	}
	used, err := c.waiting(a, wanted, drop)
	if err != nil {
		return 0, "", false, err
	}
	room = max(q.MaxWaiting-used, 0)
	if drop && room < wanted && q.OnFull == job.OnFullDropOldest {
		victims, err := c.victims(a, j.Priority, min(wanted, q.MaxWaiting)-room, c.SQL.SkipLocked("jobs"))
		if err != nil {
			return 0, "", false, err
		}
		room += len(victims)
	}
	return room, q.FullNote(used), true, nil
}

// Take counts jobs for which [Change.Room] had capacity. [Change.DropPicked] then drops the jobs that were picked for them.
func (c *Change) Take(j *job.Job, jobs int) error {
	bounded, err := c.Of([]string{j.Queue})
	if err != nil || !bounded[j.Queue].Bounded() || !counts(j) {
		return err
	}
	return c.take(bounded[j.Queue], want{jobs, j.Priority})
}
