package search

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/keys"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// RetryJobs makes failed, canceled and skipped jobs ready again, with all their attempts, under the present version of their
// task.
func (s *Store) RetryJobs(ctx context.Context, namespace string, sel view.Selection) (out view.Selected, err error) {
	if sel, err = s.readSelection(ctx, sel); err != nil {
		return out, err
	}
	unfit := func(st job.State) bool { return !st.Final() || st == job.Succeeded }
	if sel.Filter != nil && len(sel.Filter.States) == 0 {
		f := *sel.Filter
		f.States = []job.State{job.Failed} // failed jobs only; other states on request
		sel.Filter = &f
	}
	return s.bulk(ctx, bulk{name: "retry", namespace: namespace, sel: sel, unfit: unfit, why: "cannot be retried", never: stepsNever,
		do: func(c *Change, rows []jobs.JobRow, out *view.Selected) error {
			var runs []jobs.JobRow
			for _, r := range rows {
				if r.Kind == task.KindWorkflow {
					runs = append(runs, r)
				}
			}
			if err := holdCycles(c, rows); err != nil {
				return err
			}
			if err := c.workflows().HoldRuns(runs, nil); err != nil { // before the jobs, in the same order as the retry of one run
				return err
			}
			existing, err := c.takeKey(sel.Key, rows)
			if err != nil {
				return err
			}
			rows = slices.DeleteFunc(rows, func(r jobs.JobRow) bool { return existing[r.ID] })
			left, err := c.moveBack(rows)
			if err != nil {
				return err
			}
			out.IDs, out.Existing = out.IDs[:0], append(out.Existing, slices.Sorted(maps.Keys(existing))...)
			var done, not []jobs.JobRow
			var back []int64
			for _, r := range rows {
				if why, is := left[r.ID]; is {
					out.Left[r.ID] = why
					not = append(not, r)
					continue
				}
				out.IDs = append(out.IDs, r.ID)
				done = append(done, r)
				if r.Kind == task.KindWorkflow {
					back = append(back, r.ID)
				}
			}
			if err := c.freeKey(sel.Key, not); err != nil {
				return err
			}
			if err := c.workflows().ClearRetryStart(back); err != nil {
				return err
			}
			return c.auditJobs("retry", done, sel.Note)
		}})
}

// stepsNever returns why the job of a step is not retried.
func stepsNever(j jobs.JobRow) string {
	if j.Trigger == job.TriggerStep {
		return "it is a step: retry its workflow"
	}
	return ""
}

// takeKey claims the idempotency key for jobs that are about to be retried, and returns those that were retried with it already.
func (c *Change) takeKey(key string, rows []jobs.JobRow) (existing map[int64]bool, err error) {
	if key == "" {
		return nil, nil
	}
	return keys.TakeRetries(c.Change, c.keyRows(key, rows))
}

// freeKey frees the key of jobs that were left alone: a repeated request tries them again.
func (c *Change) freeKey(key string, rows []jobs.JobRow) error {
	if key == "" {
		return nil
	}
	return keys.FreeRetries(c.Change, c.keyRows(key, rows))
}

func (c *Change) keyRows(key string, rows []jobs.JobRow) []keys.Row {
	out := make([]keys.Row, len(rows))
	for i, r := range rows {
		out[i] = keys.RetryOf(c.Change, r.Namespace, r.ID, key, keys.RetryAskedFor("", nil))
	}
	return out
}

// holdCycles locks cycles if any of the jobs was a member of one. This lock covers the timing of members. Runs of workflows are
// locked after it.
func holdCycles(c *Change, rows []jobs.JobRow) error {
	if !slices.ContainsFunc(rows, func(r jobs.JobRow) bool { return r.Trigger == job.TriggerCycle }) {
		return nil
	}
	return locks.Cycles(c.Change)
}

// moveBack moves finished jobs back to the live ones. It returns the jobs that it could not move, with the reason.
func (c *Change) moveBack(rows []jobs.JobRow) (left map[int64]string, err error) {
	taskIDs := make([]int64, len(rows))
	for i, r := range rows {
		taskIDs[i] = r.TaskID
	}
	tasks, err := c.tasks().TasksByID(taskIDs)
	if err != nil {
		return nil, err
	}
	queues, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `select name from belfry.queues`)
	if err != nil {
		return nil, err
	}
	left = map[int64]string{}
	cycles := map[int64]bool{} // cycles that are retried
	var ids []int64
	for _, r := range rows {
		why, err := c.inTheWay(r, tasks, queues, cycles)
		if err != nil {
			return nil, err
		}
		if why != "" {
			left[r.ID] = why
			continue
		}
		ids = append(ids, r.ID)
		if c.Wake(base.TopicQueue(r.Queue)); task.RunByEngine(tasks[r.TaskID].Kind) {
			c.Wake(base.TopicEngine)
		}
	}
	turned, moved, err := c.insertBack(ids)
	if err != nil {
		return nil, err
	}
	if err := c.programs().HoldBack(moved, rows, tasks); err != nil {
		return nil, err
	}
	if err := c.admitLater(moved, tasks, rows); err != nil {
		return nil, err
	}
	if err := c.s.jobs.Turns().In(c.Change).PlaceAgain(turned); err != nil {
		return nil, err
	}
	if err := c.whyNotBack(ids, moved, left); err != nil {
		return nil, err
	}
	c.Wake(base.TopicJobs)
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.jobs_done where `+c.SQL.In("id", 1), c.SQL.List(moved))
	return left, err
}

// inTheWay returns the reason why a finished job cannot be moved back, or "". It adds the job's cycle to retried, because a cycle
// has one run at a time.
func (c *Change) inTheWay(r jobs.JobRow, tasks map[int64]task.Task, queues []string, retried map[int64]bool) (why string, err error) {
	if _, ok := tasks[r.TaskID]; !ok {
		return "its task was deleted: create it again, and run the job again", nil
	}
	if !slices.Contains(queues, r.Queue) {
		return "its queue was deleted: create queue " + r.Queue + " again, or run the job again", nil
	}
	if t := tasks[r.TaskID]; t.Cycle != nil {
		t.ID = r.TaskID
		live, err := c.s.cycles.LiveCycles(c.Ctx, c.Tx, t)
		if err != nil {
			return "", err
		}
		if len(live) > 0 || retried[t.ID] {
			return "another run of the cycle is under way", nil
		}
		retried[t.ID] = true
	}
	if r.Kind == task.KindWorkflow && tasks[r.TaskID].Kind != r.Kind {
		return "its task is no longer a workflow", nil
	}
	if why := stepsNever(r); why != "" {
		return why, nil
	}
	if r.Trigger == job.TriggerCycle {
		held, err := c.cycles().HoldMember(r)
		if err != nil {
			return "", err
		}
		if !held {
			return "a cycle runs its task now", nil
		}
	}
	return "", nil
}

// insertBack inserts the live rows of finished jobs, with their last attempts, and returns those that it inserted: the active key
// of a job may be taken.
func (c *Change) insertBack(ids []int64) (turned turns.Again, moved []int64, err error) {
	_, err = base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (string, error) {
		queue, err := turned.Scan(rows)
		moved = append(moved, turned.Last)
		return queue, err
	}, `
		insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, input, tags, trigger, schedule, schedule_id, generation, nominal,
			due_at, ready_at, turn, created_at, attempt, max_attempts, timeout, lease, active_key, idem_key, requirement, metered, bounded)
		select d.id, d.namespace, d.task_id, d.task, k.kind, d.queue, d.priority, 'ready', d.input, d.tags, d.trigger, d.schedule, d.schedule_id, d.generation, d.nominal,
			$2, $2, $2, d.created_at, d.attempt, d.max_attempts, d.timeout, d.lease, d.active_key, d.idem_key, k.requirement,
			case when exists (select 1 from belfry.quota_use u where u.owner = 'namespace:' || d.namespace) then 1 else 0 end,
			case when k.kind not in ('cycle', 'workflow') and exists (select 1 from belfry.queue_bounds q where q.queue = d.queue) then 2 else 0 end
		from belfry.jobs_done d
		join belfry.tasks k on k.id = d.task_id
		where `+c.SQL.In("d.id", 1)+`
		on conflict do nothing
		returning queue, id, `+turns.BaseOf, c.SQL.List(ids), base.Micros(c.Now))
	if err != nil {
		return turned, nil, err
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.attempts (job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut)
		select `+jobs.LastAttempt+`
		from belfry.jobs_done
		where `+c.SQL.In("id", 1)+` and outcome <> ''`, c.SQL.List(moved))
	return turned, moved, err
}

// whyNotBack sets the reason for jobs that were not moved: their active key is taken, or they were retried meanwhile.
func (c *Change) whyNotBack(ids, moved []int64, left map[int64]string) error {
	var not []int64
	for _, id := range ids {
		if !slices.Contains(moved, id) {
			not = append(not, id)
			left[id] = "another live job has its active key"
		}
	}
	if len(not) == 0 {
		return nil
	}
	_, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (id int64, err error) {
		err = r.Scan(&id)
		left[id] = "was retried at the same moment"
		return id, err
	}, `select id from belfry.jobs where `+c.SQL.In("id", 1), c.SQL.List(not))
	return err
}

// CancelCycle ends the run of a cycle that is in progress, and a run that waits to begin. The running member is asked to end.
func (s *Store) CancelCycle(ctx context.Context, namespace, name, note string) (out view.Selected, err error) {
	namespace = base.NamespaceOr(namespace)
	var live []int64
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		t, err := s.cycles.ReadCycle(ctx, tx, namespace, name)
		if err == nil {
			live, err = s.cycles.LiveCycles(ctx, tx, t)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	if len(live) == 0 {
		return out, cycles.NotUnderWay(name)
	}
	return s.CancelJobs(ctx, namespace, view.Selection{IDs: live, Note: note})
}

// RetryWorkflow continues an ended workflow run with the steps that did not succeed, or from a step on. A run that was retried with
// the same key already is existing, and is left as it is.
func (s *Store) RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) (existing bool, err error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	err = s.write(ctx, "retry workflow", func(c *Change) error {
		rows, err := c.heldJobs([]int64{id}, false)
		if err != nil {
			return err
		}
		if err := holdCycles(c, rows); err != nil {
			return err
		}
		if existing, err = c.workflows().PrepareRetry(namespace, id, r); err != nil || existing {
			return err
		}
		if len(rows) > 0 && !rows[0].State.Final() {
			return core.Errorf(core.Conflict, "workflow run %d was retried, and has not begun again", id).WithHint("see what it waits for: belfry job why %d", id)
		}
		if len(rows) == 0 {
			return core.Errorf(core.Conflict, "workflow run %d cannot be retried now", id).WithHint("belfry job show %d", id)
		}
		if rows[0].State == job.Succeeded && r.From == "" {
			return core.Errorf(core.Conflict, "workflow run %d succeeded", id).WithHint("name the step to begin at: belfry workflow retry %d --from STEP", id)
		}
		left, err := c.moveBack(rows)
		if err != nil {
			return err
		}
		if why, is := left[id]; is {
			return core.Errorf(core.Conflict, "workflow run %d cannot be retried: %s", id, why)
		}
		if len(r.Input) > 0 { // what the job shows, and what a new job made from it gets
			if _, err := c.Tx.Exec(ctx, `update belfry.jobs set input = $2 where id = $1`, id, base.JsonText(r.Input)); err != nil {
				return err
			}
		}
		note := r.Note
		if r.From != "" {
			note = strings.TrimPrefix(note+", from "+r.From, ", ")
		}
		return c.auditJobs("retry", rows, note)
	})
	return existing, err
}
