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

// ReasonSequence is the reason of a job that was skipped because an earlier job of its sequence failed.
const ReasonSequence core.Reason = "sequence"

// skipBatch bounds the jobs that one pass skips.
const skipBatch = 500

// skipStopped skips the waiting jobs of stopped sequences whose on-failure rule is to skip. Each sequence has a transition of
// its own: together they would lock the rows that follow from ended jobs, such as schedules, in no common order. It returns
// the keys of sequences with jobs that another transaction was changing.
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

// skip skips the waiting jobs of one sequence, unless it was resumed since. It locks the jobs but not their key: the end of a
// job locks schedules and runs, which come before keys. The waiting jobs are read again under these locks, in one statement
// with stopped_by, so each of them came before the sequence went on. Jobs that another transaction is changing are left for
// the next pass; busy reports whether there are any.
func (c *Change) skip(k keyRow) (busy bool, err error) {
	var of owners
	of.add(k.Owner)
	gates, err := c.gates(of)
	if all := gates[k.Owner]; err != nil || len(all) == 0 || all[0].OnFailure != flow.SequenceSkips { // the gate of the sequence is the first
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

// lockSequences makes sure that a transition which holds other keys has all keys of jobs in sequences: a later caller must not
// pass these jobs. If a key is missing, another transaction has it or may be making it, and may wait for keys of this transition.
// So the transition begins again, by [base.Meets].
func lockSequences(c *Change, as []*admission, keys [][]keyName, locked map[int64]*lockedKey, byName map[keyName]int64) error {
	var new []keyName
	var busy []int64
	for i, a := range as {
		if !slices.ContainsFunc(a.gates, func(g job.Gate) bool { return g.Strict }) {
			continue
		}
		for _, name := range keys[i] {
			switch id := byName[name]; {
			case locked[id] != nil:
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
	slices.SortFunc(new, compareKeyNames)
	query, args := insertKeys(c, slices.Compact(new))
	return base.Meets{Makes: query, With: args}
}

// HandOver makes a run of a workflow that is retried the holder of the sequences that jobs of its steps stopped, those of runs within
// it too. These jobs are not retried: the jobs that are made instead of them take their places, by [takesOver].
func HandOver(c *base.Change, run int64) error {
	stopping, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		with recursive below (id) as (
			select job_id from belfry.workflow_items where run_id = $1
			union all
			select i.job_id from below join belfry.workflow_items i on i.run_id = below.id where below.id > 0
		)
		select stopped_by from belfry.limit_keys where stopped_by > 0 and stopped_by in (select id from below)`, run)
	if err != nil || len(stopping) == 0 {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.jobs_done set note = $2 where `+c.SQL.In("id", 1), c.SQL.List(stopping), flow.TakenOverNote); err != nil {
		return err
	}
	base.Kept[keyLocks](c).held = true
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.limit_keys
		set stopped_by = $2
		where id in (
			select id
			from belfry.limit_keys
			where stopped_by > 0 and `+c.SQL.In("stopped_by", 1)+`
			order by id`+c.SQL.ForUpdate("limit_keys")+`)`, c.SQL.List(stopping), run)
	return err
}

// LetOn lets the sequences go on that a run still stops when it has succeeded: its jobs have other keys since, or were left out.
func LetOn(c *base.Change, run int64) error {
	n, err := c.Tx.Exec(c.Ctx, `update belfry.limit_keys set stopped_by = 0, look_at = $2 where stopped_by > 0 and stopped_by = $1`, run, base.Micros(c.Now))
	if n > 0 {
		base.Kept[keyLocks](c).held = true
		c.Wake(base.TopicEngine)
	}
	return err
}

// takesOver reports that a job takes the place of the one that stopped its sequence: it is that job, or was made for a step of the run
// that stops the sequence since [HandOver], or of a run within it.
func takesOver(c *base.Change, j *job.Job, stopped int64) (bool, error) {
	if j.ID == stopped || j.Trigger != job.TriggerStep {
		return j.ID == stopped, nil
	}
	_, within, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		with recursive above (id) as (
			select run_id from belfry.workflow_items where job_id > 0 and job_id = $1
			union all
			select i.run_id from above join belfry.workflow_items i on i.job_id > 0 and i.job_id = above.id
		)
		select id from above where id = $2`, j.ID, stopped)
	return within, err
}

// ResumeSequence lets a sequence that a failed job stopped go on with its next job, and reports whether it was stopped.
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
		stopped, found, err := base.First(ctx, c.Tx, base.ScanInt, `
			select stopped_by
			from belfry.limit_keys
			where owner = $1 and name = $2 and value = $3 and stopped_by > 0`, job.TaskOwner(t.ID), flow.SequenceGateName, key)
		if err != nil || !found {
			return err
		}
		// The job before its key, as a retry locks them. Where another transition is first, the job has left or says this already.
		if _, err := c.Tx.Exec(ctx, `update belfry.jobs_done set note = $2 where id = $1 and kind <> 'workflow'`, stopped, flow.ResumedNote); err != nil {
			return err
		}
		n, err := c.Tx.Exec(ctx, `
			update belfry.limit_keys
			set stopped_by = 0, look_at = $5
			where owner = $1 and name = $2 and value = $3 and stopped_by = $4`, job.TaskOwner(t.ID), flow.SequenceGateName, key, stopped, base.Micros(c.Now))
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
