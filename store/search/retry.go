package search

import (
	"context"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// RetryJobs makes failed, canceled and skipped jobs ready again, with all
// their attempts back and under the task as it is now.
func (s *Store) RetryJobs(ctx context.Context, namespace string, sel view.Selection) (out view.Selected, err error) {
	if sel, err = s.readSelection(ctx, sel); err != nil {
		return out, err
	}
	unfit := func(st job.State) bool { return !st.Final() || st == job.Succeeded }
	if sel.Filter != nil && len(sel.Filter.States) == 0 {
		f := *sel.Filter
		f.States = []job.State{job.Failed} // dead jobs; others only when asked for
		sel.Filter = &f
	}
	return s.bulk(ctx, bulk{name: "retry", namespace: namespace, sel: sel, unfit: unfit, why: "cannot be retried",
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
			if err := c.workflows().HoldRuns(runs, nil); err != nil { // before their jobs, as by those who retry one
				return err
			}
			left, err := c.bringBack(rows)
			if err != nil {
				return err
			}
			out.IDs = out.IDs[:0]
			var done []jobs.JobRow
			var back []int64
			for _, r := range rows {
				if why, is := left[r.ID]; is {
					out.Left[r.ID] = why
					continue
				}
				out.IDs = append(out.IDs, r.ID)
				done = append(done, r)
				if r.Kind == task.KindWorkflow {
					back = append(back, r.ID)
				}
			}
			if err := c.workflows().RetryPlainly(back); err != nil {
				return err
			}
			return c.auditJobs("retry", done, sel.Note)
		}})
}

// holdCycles locks cycles if any of some jobs was a member of one, whose timing is locked with that: runs of workflows come
// after them.
func holdCycles(c *Change, rows []jobs.JobRow) error {
	if !slices.ContainsFunc(rows, func(r jobs.JobRow) bool { return r.Trigger == job.TriggerCycle }) {
		return nil
	}
	return locks.Cycles(c.Change)
}

// bringBack moves finished jobs to the live ones. It answers those it could
// not move and why.
func (c *Change) bringBack(rows []jobs.JobRow) (left map[int64]string, err error) {
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
	cycles := map[int64]bool{} // that are brought back
	var ids []int64
	for _, r := range rows {
		if _, ok := tasks[r.TaskID]; !ok {
			left[r.ID] = "its task was deleted"
			continue
		}
		if !slices.Contains(queues, r.Queue) {
			left[r.ID] = "its queue was deleted"
			continue
		}
		if t := tasks[r.TaskID]; t.Cycle != nil {
			t.ID = r.TaskID
			live, err := c.s.cycles.LiveCycles(c.Ctx, c.Tx, t)
			if err != nil {
				return nil, err
			}
			if len(live) > 0 || cycles[t.ID] {
				left[r.ID] = "another run of the cycle is under way"
				continue
			}
			cycles[t.ID] = true
		}
		if r.Kind == task.KindWorkflow && tasks[r.TaskID].Kind != r.Kind {
			left[r.ID] = "its task is no longer a workflow"
			continue
		}
		if r.Trigger == job.TriggerStep {
			left[r.ID] = "it is a step: retry its workflow"
			continue
		}
		if r.Trigger == job.TriggerCycle {
			held, err := c.cycles().HoldMember(r)
			if err != nil {
				return nil, err
			}
			if !held {
				left[r.ID] = "a cycle runs its task now"
				continue
			}
		}
		ids = append(ids, r.ID)
		if c.Wake(base.TopicQueue(r.Queue)); task.RunByEngine(tasks[r.TaskID].Kind) {
			c.Wake(base.TopicEngine)
		}
	}
	var turned turns.Again
	var moved []int64
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
		return nil, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.attempts (job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut)
		select `+jobs.LastAttempt+`
		from belfry.jobs_done
		where `+c.SQL.In("id", 1)+` and outcome <> ''`, c.SQL.List(moved)); err != nil {
		return nil, err
	}
	if err := c.programs().HoldBack(moved, rows, tasks); err != nil {
		return nil, err
	}
	if err := c.letInLater(moved, tasks, rows); err != nil {
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

// whyNotBack says of jobs that were not moved why: an active key is taken, or they were retried meanwhile.
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

// CancelCycle ends the run of a cycle that is under way, and one that is about
// to begin. The member that runs is asked to end.
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

// RetryWorkflow has a run of a workflow that ended go on: with the steps that did not succeed, or from a step on.
func (s *Store) RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return s.write(ctx, "retry workflow", func(c *Change) error {
		rows, err := c.heldJobs([]int64{id}, false)
		if err != nil {
			return err
		}
		if err := holdCycles(c, rows); err != nil {
			return err
		}
		if err := c.workflows().PrepareRetry(namespace, id, r); err != nil {
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
		left, err := c.bringBack(rows)
		if err != nil {
			return err
		}
		if why, is := left[id]; is {
			return core.Errorf(core.Conflict, "workflow run %d cannot be retried: %s", id, why)
		}
		note := r.Note
		if r.From != "" {
			note = strings.TrimPrefix(note+", from "+r.From, ", ")
		}
		return c.auditJobs("retry", rows, note)
	})
}
