package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// ReasonSequence is that of a job which was skipped because another of its sequence failed.
const ReasonSequence core.Reason = "sequence"

// skipBatch bounds the jobs that one pass skips.
const skipBatch = 500

// skipStopped skips those who wait in sequences whose job has failed, where that is what they do. It is a transition of its
// own: it locks jobs, and letting in locks keys first.
func (s *Store) skipStopped(ctx context.Context, now time.Time) error {
	const stopped = `from belfry.limit_keys k where k.stopped_by > 0 and k.look_at > 0 and k.look_at <= $1`
	var some int64
	err := s.DB().Read(ctx, func(tx base.Tx) (err error) {
		some, _, err = base.First(ctx, tx, base.ScanInt, `select 1 `+stopped+` limit 1`, base.Micros(now))
		return err
	})
	if err != nil || some == 0 {
		return err
	}
	return s.Write(ctx, "skip", func(b *base.Change) error {
		c := s.In(b)
		keys, err := base.Collect(ctx, c.Tx, scanKey, `select `+keyColumns+` `+stopped+` order by k.id limit 16`, base.Micros(now))
		if err != nil {
			return err
		}
		for _, k := range keys {
			var of owners
			of.add(k.Owner)
			gates, err := c.gates(of)
			if err != nil {
				return err
			}
			if all := gates[k.Owner]; len(all) == 0 || all[0].OnFailure != flow.SequenceSkips { // a sequence comes first
				continue
			}
			if err := c.skip(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// skip skips in one sequence, if it has not gone on since. Its key is locked before those who wait are read, so nobody
// comes or is let in meanwhile; jobs that another transaction is changing are left for the next pass.
func (c *Change) skip(k keyRow) error {
	_, stopped, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select k.id
		from belfry.limit_keys k
		where k.id = $1 and k.stopped_by = $2`+c.SQL.SkipLocked("k"), k.ID, k.Stopped)
	if err != nil || !stopped {
		return err
	}
	base.Kept[locked](c.Change).any = true
	waiting, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select job_id
		from belfry.limit_jobs
		where key_id = $1 and stage = 1
		order by priority desc, job_id
		limit $2 + 0`, k.ID, skipBatch)
	if err != nil {
		return err
	}
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where `+c.SQL.In("id", 1)+`
		order by id`+c.SQL.SkipLocked("jobs"), c.SQL.List(waiting))
	if err != nil {
		return err
	}
	if len(waiting) == skipBatch || len(ids) < len(waiting) {
		c.Wake(base.TopicEngine)
	}
	return c.s.Skip(c.Change, ids, fmt.Sprintf("job %d of its sequence failed", k.Stopped))
}

// ResumeSequence has a sequence that a failed job stopped go on with the next, and answers whether it was stopped.
func (s *Store) ResumeSequence(ctx context.Context, namespace, name, key string) (resumed bool, err error) {
	namespace = base.NamespaceOr(namespace)
	err = s.Write(ctx, "resume sequence", func(b *base.Change) error {
		c := s.In(b)
		t, err := s.tasks.ReadTask(ctx, c.Tx, namespace, name)
		if err != nil {
			return err
		}
		if t.Sequence == nil {
			return core.Errorf(core.Conflict, "task %q has no sequence", name).WithHint("see: belfry task show %s", name)
		}
		n, err := c.Tx.Exec(ctx, `
			update belfry.limit_keys
			set stopped_by = 0, look_at = $4
			where owner = $1 and name = $2 and value = $3 and stopped_by > 0`, job.TaskOwner(t.ID), flow.SequenceGateName, key, base.Micros(c.Now))
		if err != nil {
			return err
		}
		if resumed = n > 0; !resumed {
			return nil
		}
		c.Wake(base.TopicEngine)
		return c.Audit("resume", "task", namespace, name, fmt.Sprintf("sequence %q", key), nil, nil)
	})
	return resumed, err
}
