package limits

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// leaving are jobs that leave their keys in a transition.
type leaving struct {
	jobs   []int64
	failed []int64 // of these, for good
	rest   []int64 // those that keep their places in sequences
}

// Leave takes jobs out of their keys, and lets in at the end of the transition who comes next. In a transaction of the
// caller's, which may last, a pass of the engine does so after its commit.
func (c *Change) Leave(jobs ...int64) error { return c.leave(leaving{jobs: jobs}) }

// Fail is Leave for jobs that have failed for good.
func (c *Change) Fail(jobs ...int64) error { return c.leave(leaving{jobs: jobs, failed: jobs}) }

// Rest is Leave for jobs that wait for a retry: they keep their places in sequences.
func (c *Change) Rest(jobs ...int64) error { return c.leave(leaving{rest: jobs}) }

func (c *Change) leave(more leaving) error {
	if len(more.jobs)+len(more.rest) == 0 {
		return nil
	}
	if c.Foreign {
		return c.leaveLater(more)
	}
	l := base.Kept[leaving](c.Change)
	if len(l.jobs)+len(l.rest) == 0 {
		c.Before(func() error {
			all := *l
			*l = leaving{}
			return c.left(all)
		})
	}
	l.jobs, l.failed, l.rest = append(l.jobs, more.jobs...), append(l.failed, more.failed...), append(l.rest, more.rest...)
	return nil
}

// The ends of jobs in transactions of others, as they are kept for the engine.
const (
	leftWell   = 0
	leftFailed = 1
	leftToRest = 2
)

type leftRow struct {
	JobID  int64 `json:"job_id"`
	Failed int   `json:"failed"`
}

func (c *Change) leaveLater(l leaving) error {
	how := map[int64]int{} // each job once: the end of one that has gone to rest counts
	for _, id := range l.rest {
		how[id] = leftToRest
	}
	for _, id := range l.jobs {
		how[id] = leftWell
	}
	for _, id := range l.failed {
		how[id] = leftFailed
	}
	rows := make([]leftRow, 0, len(how))
	for _, id := range slices.Sorted(maps.Keys(how)) {
		rows = append(rows, leftRow{id, how[id]})
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.limit_left (job_id, failed)
		select t.job_id, t.failed
		from `+from+`
		where true
		on conflict (job_id) do update
		set failed = case when belfry.limit_left.failed = `+strconv.Itoa(leftToRest)+` then excluded.failed else belfry.limit_left.failed end`, args...)
	return err
}

// left is the end of [Change.Leave].
func (c *Change) left(l leaving) error {
	if holds(c) {
		busy, err := c.busy(l)
		if err != nil {
			return err
		}
		var later leaving
		if later, l = l.parted(busy); len(busy) > 0 {
			c.Wake(base.TopicEngine)
			if err := c.leaveLater(later); err != nil {
				return err
			}
		}
	}
	keys, failed, err := c.takeOut(l)
	if err != nil || len(keys) == 0 {
		return err
	}
	rooms, err := c.lock(keys, true)
	if err != nil {
		return err
	}
	leaveEach(rooms, keys)
	stop(rooms, failed, base.Micros(c.Now))
	_, err = c.admit(rooms)
	return err
}

// leaveEach notes of keys that a job has left them. Most are needed again, so none is forgotten then.
func leaveEach(rooms map[int64]*room, keys []int64) {
	for _, id := range keys {
		if r := rooms[id]; r != nil {
			r.left = true
		}
	}
}

// busy is those of the jobs that have a key which another transaction has locked.
func (c *Change) busy(l leaving) (map[int64]bool, error) {
	of := map[int64][]int64{}
	if _, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var key, id int64
		err = rows.Scan(&key, &id)
		of[key] = append(of[key], id)
		return none, err
	}, `select key_id, job_id from belfry.limit_jobs where `+c.SQL.In("job_id", 1), c.SQL.List(slices.Concat(l.jobs, l.rest))); err != nil {
		return nil, err
	}
	free, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.limit_keys
		where `+c.SQL.In("id", 1)+`
		order by id`+c.SQL.SkipLocked("limit_keys"), c.SQL.List(slices.Sorted(maps.Keys(of))))
	if err != nil {
		return nil, err
	}
	for _, key := range free {
		delete(of, key)
	}
	busy := map[int64]bool{}
	for _, ids := range of {
		for _, id := range ids {
			busy[id] = true
		}
	}
	return busy, nil
}

// parted is those of which that say so, and the others.
func (l leaving) parted(which map[int64]bool) (some, others leaving) {
	for _, part := range []struct{ from, some, others *[]int64 }{
		{&l.jobs, &some.jobs, &others.jobs}, {&l.failed, &some.failed, &others.failed}, {&l.rest, &some.rest, &others.rest},
	} {
		for _, id := range *part.from {
			if which[id] {
				*part.some = append(*part.some, id)
			} else {
				*part.others = append(*part.others, id)
			}
		}
	}
	return some, others
}

// stop holds the sequences whose job has failed for good.
func stop(rooms map[int64]*room, failed map[int64]int64, now int64) {
	for key, id := range failed {
		r := rooms[key]
		if r == nil || !r.gate.Strict {
			continue
		}
		switch {
		case r.gate.OnFailure == flow.SequenceStops:
			r.stopped = id
		case r.gate.OnFailure == flow.SequenceSkips && r.waits:
			r.stopped = id
			r.lookAt(now)
		}
	}
}

// takeOut removes jobs from their keys, and answers these, and which of them a job has left that failed.
func (c *Change) takeOut(l leaving) (keys []int64, failed map[int64]int64, err error) {
	failed = map[int64]int64{}
	remove := func(jobs []int64, which string) error {
		if len(jobs) == 0 {
			return nil
		}
		slices.Sort(jobs)
		_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
			var key, id, stage int64
			err = rows.Scan(&key, &id, &stage)
			keys = append(keys, key)
			if stage == entered && slices.Contains(l.failed, id) {
				failed[key] = id
			}
			return none, err
		}, `delete from belfry.limit_jobs where `+c.SQL.In("job_id", 1)+which+` returning key_id, job_id, stage`, c.SQL.List(jobs))
		return err
	}
	if err := remove(l.jobs, ``); err != nil {
		return nil, nil, err
	}
	err = remove(l.rest, ` and (select k.name from belfry.limit_keys k where k.id = belfry.limit_jobs.key_id) <> '`+flow.SequenceGateName+`'`)
	return base.Unique(keys), failed, err
}

// lookBatch and leftBatch bound the keys of one look, and the jobs that leave with it.
const (
	lookBatch = 256
	leftBatch = 1000
)

// LetIn lets in whose turn has come by a rate, or by a change of a limit, and who follows jobs that were settled in
// transactions of others. It answers when to look again; zero: when something wakes the engine.
func (s *Store) LetIn(ctx context.Context) (out job.Promoted, err error) {
	var some int64
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		some, _, err = base.First(ctx, tx, base.ScanInt, `
			select coalesce((select 1 from belfry.limit_left limit 1), (select look_at from belfry.limit_keys where look_at > 0 order by look_at limit 1), 0)`)
		return err
	})
	if err != nil || some == 0 {
		return out, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	out.Now = now
	if some > base.Micros(now) {
		out.NextAt = base.Instant(some)
		return out, nil
	}
	busy, err := s.skipStopped(ctx, now)
	if err != nil {
		return out, err
	}
	err = s.Write(ctx, "admit", func(b *base.Change) error {
		c := s.In(b)
		out = job.Promoted{Now: c.Now}
		var l leaving
		_, err := base.Collect(ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
			var id, how int64
			err = rows.Scan(&id, &how)
			switch how {
			case leftToRest:
				l.rest = append(l.rest, id)
			case leftFailed:
				l.failed = append(l.failed, id)
				fallthrough
			default:
				l.jobs = append(l.jobs, id)
			}
			return none, err
		}, `
			delete from belfry.limit_left
			where job_id in (select job_id from belfry.limit_left order by job_id limit `+strconv.Itoa(leftBatch)+c.SQL.SkipLocked("limit_left")+`)
			returning job_id, failed`)
		if err != nil {
			return err
		}
		if len(l.jobs)+len(l.rest) == leftBatch {
			c.Wake(base.TopicEngine)
		}
		keys, failed, err := c.takeOut(l)
		if err != nil {
			return err
		}
		due, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.limit_keys
			where look_at > 0 and look_at <= $1
			order by look_at
			limit $2 + 0`, base.Micros(c.Now), lookBatch)
		if err != nil {
			return err
		}
		rooms, err := c.lock(base.Unique(append(keys, due...)), true)
		if err != nil {
			return err
		}
		for _, id := range busy {
			if r := rooms[id]; r != nil {
				r.rest = busyLook
			}
		}
		leaveEach(rooms, keys)
		stop(rooms, failed, base.Micros(c.Now))
		if out.Jobs, err = c.admit(rooms); err != nil {
			return err
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select look_at from belfry.limit_keys where look_at > 0 order by look_at limit 1`)
		out.NextAt = base.Instant(next)
		return err
	})
	return out, err
}

// Changed has the engine look at all keys of an owner whose limits have changed.
func (c *Change) Changed(owner string) error {
	c.Wake(base.TopicEngine)
	c.Before(func() error { // keys are locked last
		base.Kept[locked](c.Change).any = true
		_, err := c.Tx.Exec(c.Ctx, `
			update belfry.limit_keys
			set look_at = $2
			where id in (
				select id
				from belfry.limit_keys
				where owner = $1
				order by id`+c.SQL.ForUpdate("limit_keys")+`)`, owner, base.Micros(c.Now))
		return err
	})
	return nil
}

// LeaveIfUnder takes those of some jobs out of their keys that are under any, because they wait for something else. The
// caller writes that they are not.
func (c *Change) LeaveIfUnder(ids []int64) error {
	limited, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `select id from belfry.jobs where `+c.SQL.In("id", 1)+` and limited = 1`, c.SQL.List(ids))
	if err != nil {
		return err
	}
	return c.Leave(limited...)
}

// Anew has ready jobs that are locked and have no lease be let in by the engine.
func (c *Change) Anew(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	c.Wake(base.TopicEngine)
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set state = 'scheduled', ready_at = 0, due_at = $2, priority = priority - aged, aged = 0
		where `+c.SQL.In("id", 1)+` and state = 'ready'`, c.SQL.List(ids), base.Micros(c.Now))
	return err
}

// Ended takes a job out of its keys, if it is under any, as its end says.
func (c *Change) Ended(under bool, id int64, state job.State) error {
	switch {
	case !under || state == job.Ready: // which stays in its place
		return nil
	case state == job.Failed:
		return c.Fail(id)
	case state.Final():
		return c.Leave(id)
	}
	return c.Rest(id)
}
