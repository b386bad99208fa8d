package limits

import (
	"context"
	"fmt"
	"slices"
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

// skipStopped skips those who wait in sequences whose job has failed, where that is what they do. Each is a transition of its
// own: two would lock what follows from their ends, such as schedules, in no common order. It answers the sequences of which
// another transaction was changing jobs.
func (s *Store) skipStopped(ctx context.Context, now time.Time) (busy []int64, err error) {
	var keys []keyRow
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		keys, err = base.Collect(ctx, tx, scanKey, `
			select `+keyColumns+`
			from belfry.limit_keys k
			where k.stopped_by > 0 and k.look_at > 0 and k.look_at <= $1
			order by k.id
			limit 16`, base.Micros(now))
		return err
	})
	for _, k := range keys {
		if err != nil {
			break
		}
		some := false
		if err = s.Write(ctx, "skip", func(b *base.Change) (err error) {
			some, err = s.In(b).skip(k)
			return err
		}); some {
			busy = append(busy, k.ID)
		}
	}
	return busy, err
}

// skip skips in one sequence, if it has not gone on since. The jobs are locked, and not their key: what follows from their
// ends locks schedules and runs, before keys. Waiting jobs are read again under these locks, in one statement with what stopped
// them, so each of them came before the sequence went on. Jobs that another transaction is changing are left for the next pass,
// and it answers whether there are any.
func (c *Change) skip(k keyRow) (busy bool, err error) {
	var of owners
	of.add(k.Owner)
	gates, err := c.gates(of)
	if all := gates[k.Owner]; err != nil || len(all) == 0 || all[0].OnFailure != flow.SequenceSkips { // a sequence comes first
		return false, err
	}
	const waits = `
		select l.job_id
		from belfry.limit_jobs l
		join belfry.limit_keys k on k.id = l.key_id
		where l.key_id = $1 and l.stage = 1 and k.stopped_by = $2`
	waiting, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, waits+`
		order by l.priority desc, l.job_id
		limit $3 + 0`, k.ID, k.Stopped, skipBatch)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where `+c.SQL.In("id", 1)+`
		order by id`+c.SQL.SkipLocked("jobs"), c.SQL.List(waiting))
	if err != nil {
		return false, err
	}
	busy = len(ids) < len(waiting)
	if ids, err = base.Collect(c.Ctx, c.Tx, base.ScanInt, waits+` and `+c.SQL.In("l.job_id", 3)+`
		order by l.job_id`, k.ID, k.Stopped, c.SQL.List(ids)); err != nil || len(ids) == 0 {
		return busy, err
	}
	return busy, c.s.Skip(c.Change, ids, fmt.Sprintf("job %d of its sequence failed", k.Stopped))
}

// holdSequences locks the keys of jobs in sequences that this transition, which has others, could not lock: a later
// caller must not get before them. Where another transaction has one, or may be making it, it may wait for those of this one,
// which is begun again.
func holdSequences(c *Change, as []*Arrival, keys [][]named, rooms map[int64]*room, byName map[named]int64) error {
	var new []named
	var busy []int64
	for i, a := range as {
		if !slices.ContainsFunc(a.Gates, func(g job.Gate) bool { return g.Strict }) {
			continue
		}
		for _, name := range keys[i] {
			switch id := byName[name]; {
			case rooms[id] != nil:
			case id == 0:
				new = append(new, name)
			default:
				busy = append(busy, id)
			}
		}
	}
	if len(busy) > 0 {
		return base.Meets{Table: "limit_keys", IDs: base.Unique(busy)}
	}
	if len(new) == 0 {
		return nil
	}
	slices.SortFunc(new, compareNamed)
	query, args := insertKeys(c, slices.Compact(new))
	return base.Meets{Makes: query, With: args}
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
