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

// releases are the jobs that a transition releases.
type releases struct {
	jobs    []int64 // released from all their keys
	failed  []int64 // of jobs, those that failed for good
	retries []int64 // wait for a retry, and keep their places in sequences
}

// Release releases jobs from their keys, and admits the next waiting jobs at the end of the transition. In a transaction of
// the caller, which may be long, the engine does both after the commit.
func (c *Change) Release(jobs ...int64) error { return c.release(releases{jobs: jobs}) }

// ReleaseFailed is Release for jobs that have failed for good.
func (c *Change) ReleaseFailed(jobs ...int64) error {
	return c.release(releases{jobs: jobs, failed: jobs})
}

// ReleaseForRetry is Release for jobs that wait for a retry: they keep their places in sequences.
func (c *Change) ReleaseForRetry(jobs ...int64) error { return c.release(releases{retries: jobs}) }

func (c *Change) release(more releases) error {
	if len(more.jobs)+len(more.retries) == 0 {
		return nil
	}
	if c.Foreign {
		return c.releaseLater(more)
	}
	l := base.Kept[releases](c.Change)
	if len(l.jobs)+len(l.retries) == 0 {
		c.Before(func() error {
			all := *l
			*l = releases{}
			return c.releaseNow(all)
		})
	}
	l.jobs, l.failed, l.retries = append(l.jobs, more.jobs...), append(l.failed, more.failed...), append(l.retries, more.retries...)
	return nil
}

// Values of limit_left.failed: how the engine releases a job that was settled in a transaction of the caller.
const (
	endedWell     = 0
	endedFailed   = 1
	waitsForRetry = 2
)

type releasedRow struct {
	JobID  int64 `json:"job_id"`
	Failed int   `json:"failed"`
}

// releaseLater records releases in limit_left, for the engine.
func (c *Change) releaseLater(l releases) error {
	how := map[int64]int{} // each job once; if it waited for a retry and then ended, the end counts
	for _, id := range l.retries {
		how[id] = waitsForRetry
	}
	for _, id := range l.jobs {
		how[id] = endedWell
	}
	for _, id := range l.failed {
		how[id] = endedFailed
	}
	rows := make([]releasedRow, 0, len(how))
	for _, id := range slices.Sorted(maps.Keys(how)) {
		rows = append(rows, releasedRow{id, how[id]})
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.limit_left (job_id, failed)
		select t.job_id, t.failed
		from `+from+`
		where true
		on conflict (job_id) do update
		set failed = case when belfry.limit_left.failed = `+strconv.Itoa(waitsForRetry)+` then excluded.failed else belfry.limit_left.failed end`, args...)
	return err
}

// releaseNow is the end of [Change.Release].
func (c *Change) releaseNow(l releases) error {
	if holdsKeys(c) {
		busy, err := c.busy(l)
		if err != nil {
			return err
		}
		var later releases
		if later, l = l.split(busy); len(busy) > 0 {
			c.Wake(base.TopicEngine)
			if err := c.releaseLater(later); err != nil {
				return err
			}
		}
	}
	keys, failed, err := c.removeJobs(l)
	if err != nil || len(keys) == 0 {
		return err
	}
	locked, err := c.lock(base.Unique(keys), true, counting{first: mostReleased(keys), rough: true})
	if err != nil {
		return err
	}
	markReleased(locked, keys)
	stopSequences(locked, failed, base.Micros(c.Now))
	_, err = c.admit(locked)
	return err
}

// mostReleased returns the largest number of jobs that left one key, up to firstWaiting: how many may be admitted there.
func mostReleased(keys []int64) (most int) {
	left := make(map[int64]int, len(keys))
	for _, id := range keys {
		left[id]++
		most = max(most, left[id])
	}
	return min(most, firstWaiting)
}

// markReleased marks keys from which a job was released. Most of them are needed again, so this transition deletes none.
func markReleased(locked map[int64]*lockedKey, keys []int64) {
	for _, id := range keys {
		if k := locked[id]; k != nil {
			k.jobLeft = true
		}
	}
}

// busy returns the jobs that have a key which another transaction has locked.
func (c *Change) busy(l releases) (map[int64]bool, error) {
	of := map[int64][]int64{}
	if _, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var key, id int64
		err = rows.Scan(&key, &id)
		of[key] = append(of[key], id)
		return none, err
	}, `select key_id, job_id from belfry.limit_jobs where `+c.SQL.In("job_id", 1), c.SQL.List(slices.Concat(l.jobs, l.retries))); err != nil {
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

// split separates the releases of some jobs (which) from the others.
func (l releases) split(which map[int64]bool) (some, others releases) {
	for _, part := range []struct{ from, some, others *[]int64 }{
		{&l.jobs, &some.jobs, &others.jobs}, {&l.failed, &some.failed, &others.failed}, {&l.retries, &some.retries, &others.retries},
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

// stopSequences stops the sequences of jobs that failed for good. failed maps a key to its failed job.
func stopSequences(locked map[int64]*lockedKey, failed map[int64]int64, now int64) {
	for key, id := range failed {
		k := locked[key]
		if k == nil || !k.gate.Strict {
			continue
		}
		switch {
		case k.gate.OnFailure == flow.SequenceStops:
			k.stopped = id
		case k.gate.OnFailure == flow.SequenceSkips && k.hasWaiting:
			k.stopped = id
			k.lookAt(now)
		}
	}
}

// removeJobs deletes the rows of jobs in limit_jobs. It returns the key of each row, and the job that failed for good of each key.
func (c *Change) removeJobs(l releases) (keys []int64, failed map[int64]int64, err error) {
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
			if stage == stageAdmitted && slices.Contains(l.failed, id) {
				failed[key] = id
			}
			return none, err
		}, `delete from belfry.limit_jobs where `+c.SQL.In("job_id", 1)+which+` returning key_id, job_id, stage`, c.SQL.List(jobs))
		return err
	}
	if err := remove(l.jobs, ``); err != nil {
		return nil, nil, err
	}
	err = remove(l.retries, ` and (select k.name from belfry.limit_keys k where k.id = belfry.limit_jobs.key_id) <> '`+flow.SequenceGateName+`'`)
	return keys, failed, err
}

// lookBatch and releaseBatch bound the keys of one pass of the engine, and the jobs that it releases.
const (
	lookBatch    = 256
	releaseBatch = 1000
)

// AdmitWaiting is a pass of the engine. It admits waiting jobs whose rate or changed limit has capacity, and releases jobs
// that were settled in transactions of callers. NextAt is the time of the next pass; zero: when the engine is woken.
func (s *Store) AdmitWaiting(ctx context.Context) (out job.Promoted, err error) {
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
		var l releases
		_, err := base.Collect(ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
			var id, how int64
			err = rows.Scan(&id, &how)
			switch how {
			case waitsForRetry:
				l.retries = append(l.retries, id)
			case endedFailed:
				l.failed = append(l.failed, id)
				fallthrough
			default:
				l.jobs = append(l.jobs, id)
			}
			return none, err
		}, `
			delete from belfry.limit_left
			where job_id in (select job_id from belfry.limit_left order by job_id limit `+strconv.Itoa(releaseBatch)+c.SQL.SkipLocked("limit_left")+`)
			returning job_id, failed`)
		if err != nil {
			return err
		}
		if len(l.jobs)+len(l.retries) == releaseBatch {
			c.Wake(base.TopicEngine)
		}
		keys, failed, err := c.removeJobs(l)
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
		locked, err := c.lock(base.Unique(append(keys, due...)), true, counting{first: firstWaiting})
		if err != nil {
			return err
		}
		for _, id := range busy {
			if k := locked[id]; k != nil {
				k.skipDelay = busyLook
			}
		}
		markReleased(locked, keys)
		stopSequences(locked, failed, base.Micros(c.Now))
		if out.Jobs, err = c.admit(locked); err != nil {
			return err
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select look_at from belfry.limit_keys where look_at > 0 order by look_at limit 1`)
		out.NextAt = base.Instant(next)
		return err
	})
	return out, err
}

// Changed makes the engine look at all keys of an owner whose limits have changed.
func (c *Change) Changed(owner string) error {
	c.Wake(base.TopicEngine)
	c.Before(func() error { // keys are locked last
		base.Kept[keyLocks](c.Change).held = true
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

// ReleaseLimited releases the limited jobs among ids, because they wait for something else. The caller writes that they are
// not limited.
func (c *Change) ReleaseLimited(ids []int64) error {
	limited, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `select id from belfry.jobs where `+c.SQL.In("id", 1)+` and limited = 1`, c.SQL.List(ids))
	if err != nil {
		return err
	}
	return c.Release(limited...)
}

// AdmitAgain schedules ready jobs, so that the engine has to admit them. The jobs are locked and have no lease.
func (c *Change) AdmitAgain(ids []int64) error {
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

// Ended releases a limited job as its state after an attempt says.
func (c *Change) Ended(limited bool, id int64, state job.State) error {
	switch {
	case !limited || state == job.Ready: // a ready job stays admitted
		return nil
	case state == job.Failed:
		return c.ReleaseFailed(id)
	case state.Final():
		return c.Release(id)
	}
	return c.ReleaseForRetry(id)
}
