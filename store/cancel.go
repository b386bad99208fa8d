package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// CancelJobs ends jobs that wait and asks those that run to end. What has
// ended already is left, with the reason.
func (s *Store) CancelJobs(ctx context.Context, namespace string, sel view.Selection) (out view.Selected, err error) {
	if sel, err = s.readSelection(ctx, sel); err != nil {
		return out, err
	}
	err = s.bulk(ctx, "cancel", sel.DryRun, func(c *change) error {
		rows, selected, err := c.selectJobs(namespace, sel, job.State.Final, "has ended already")
		if err != nil {
			return err
		}
		out = selected
		if sel.DryRun || len(rows) == 0 {
			return nil
		}
		note := "canceled by " + access.ActorOf(ctx)
		if sel.Note != "" {
			note += ": " + sel.Note
		}
		if err := c.cancelRows(rows, schedule.ReasonCanceled, note); err != nil {
			return err
		}
		return c.auditJobs("cancel", rows, sel.Note)
	})
	return out, err
}

// readSelection reads the search of a selection by the clock that decides.
func (s *Store) readSelection(ctx context.Context, sel view.Selection) (view.Selection, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return sel, err
	}
	if sel, err = sel.Read(now); err != nil {
		return sel, err
	}
	return sel, sel.Validate()
}

// selectJobs finds and locks the jobs of a bulk action. Those for which unfit
// holds are left.
func (c *change) selectJobs(namespace string, sel view.Selection, unfit func(job.State) bool, why string) ([]jobRow, view.Selected, error) {
	out := view.Selected{IDs: []int64{}, Left: map[int64]string{}}
	ids := sel.IDs
	if sel.Filter != nil {
		found, err := c.filterJobs(namespace, sel, unfit, &out)
		if err != nil {
			return nil, out, err
		}
		ids = found
	}
	rows, err := c.heldJobs(ids, sel.DryRun)
	if err != nil {
		return nil, out, err
	}
	byID := make(map[int64]jobRow, len(rows))
	for _, r := range rows {
		if namespace == core.AnyNamespace || r.Namespace == namespace {
			byID[r.ID] = r
		}
	}
	var fit []jobRow
	for _, id := range unique(ids) {
		j, there := byID[id]
		switch {
		case !there:
			out.Left[id] = "no such job"
		case unfit(j.State):
			out.Left[id] = fmt.Sprintf("%s: %s", why, j.State)
		default:
			out.IDs = append(out.IDs, id)
			fit = append(fit, j)
		}
	}
	return fit, out, nil
}

// heldJobs reads jobs, live and finished, and locks the live ones unless it is
// for a dry run.
func (c *change) heldJobs(ids []int64, dry bool) ([]jobRow, error) {
	if dry {
		return c.s.jobsByID(c.ctx, c.tx, ids)
	}
	locked, err := c.lockJobs(ids)
	if err != nil {
		return nil, err
	}
	return c.withDone(ids, locked)
}

// bulk runs a bulk action. A dry run of it is a read: it waits for no writer and
// holds up none.
func (s *Store) bulk(ctx context.Context, name string, dry bool, fn func(c *change) error) error {
	if !dry {
		return s.write(ctx, name, fn)
	}
	return s.db.Read(ctx, func(tx Tx) error {
		c := s.begin(ctx)
		c.tx, c.sql = tx, s.sql
		return fn(c)
	})
}

// filterJobs finds the oldest jobs that a filter names and an action fits, from
// the cursor on, and says where to go on. Ids only grow, so what is done to some
// of them, and what cannot be done to others, moves none into or out of what is
// to come.
func (c *change) filterJobs(namespace string, sel view.Selection, unfit func(job.State) bool, out *view.Selected) (ids []int64, err error) {
	f := *sel.Filter
	f.Namespace = namespace
	fit := slices.DeleteFunc(slices.Clone(job.States), unfit)
	if len(f.States) == 0 {
		f.States = fit
	}
	after, err := decodeIDCursor(sel.Cursor)
	if err != nil {
		return nil, err
	}
	limit := core.MaxBatch
	if sel.Sample > 0 {
		limit = min(limit, sel.Sample)
		f.States = slices.DeleteFunc(slices.Clone(f.States), unfit)
		count := core.Counted{}
		if len(f.States) == 0 {
			out.Count = &count
			return nil, nil
		}
		if count, err = c.s.countJobs(c.ctx, c.tx, f, view.CountOptions{}.Bound(), lookCount); err != nil {
			return nil, err
		}
		out.Count = &count
	}
	rows, l, err := c.s.searchJobs(c.ctx, c.tx, f, after, limit, lookBulk, "asc")
	if err != nil {
		return nil, err
	}
	if l.until > 0 {
		out.More, out.Next = true, encodeCursor(strconv.FormatInt(l.until, 10))
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// withDone adds the finished ones among ids to the live ones that are locked.
func (c *change) withDone(ids []int64, live []jobRow) ([]jobRow, error) {
	if len(live) == len(ids) || len(ids) == 0 {
		return live, nil
	}
	done, err := collect(c.ctx, c.tx, scanJob, selectDone+` where `+c.sql.In("id", 1), c.sql.List(ids))
	return append(live, done...), err
}

// cancelRows ends locked jobs that wait, and marks those that run.
func (c *change) cancelRows(rows []jobRow, reason core.Reason, note string) error {
	var waiting []ending
	var running []int64
	for _, j := range rows {
		if j.State != job.Running {
			waiting = append(waiting, ending{row: j, settled: job.Withdraw(j.Job, reason, note)})
			continue
		}
		running = append(running, j.ID)
		c.wake(topicSession(j.Session))
	}
	if len(running) > 0 {
		if _, err := c.tx.Exec(c.ctx, `
			update belfry.leases
			set cancel_at = $2, cancel_note = $3
			where `+c.sql.In("job_id", 1)+` and cancel_at = 0`,
			c.sql.List(running), micros(c.now), note); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return c.end(waiting, true)
}

// auditJobs writes one row for one job, and one for a whole batch.
func (c *change) auditJobs(action string, rows []jobRow, note string) error {
	perNamespace := map[string][]int64{}
	for _, r := range rows {
		perNamespace[r.Namespace] = append(perNamespace[r.Namespace], r.ID)
	}
	for namespace, ids := range perNamespace {
		name := fmt.Sprint(ids[0])
		if len(ids) > 1 {
			name = fmt.Sprintf("%d jobs", len(ids))
		}
		if err := c.audit(action, "job", namespace, name, note, nil, ids); err != nil {
			return err
		}
	}
	return nil
}

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
	err = s.bulk(ctx, "retry", sel.DryRun, func(c *change) error {
		rows, selected, err := c.selectJobs(namespace, sel, unfit, "cannot be retried")
		if err != nil {
			return err
		}
		out = selected
		if sel.DryRun || len(rows) == 0 {
			return nil
		}
		back, err := c.bringBack(rows)
		if err != nil {
			return err
		}
		out.IDs = out.IDs[:0]
		var done []jobRow
		for _, r := range rows {
			if why, left := back[r.ID]; left {
				out.Left[r.ID] = why
				continue
			}
			out.IDs = append(out.IDs, r.ID)
			done = append(done, r)
		}
		return c.auditJobs("retry", done, sel.Note)
	})
	return out, err
}

// bringBack moves finished jobs to the live ones. It answers those it could
// not move and why.
func (c *change) bringBack(rows []jobRow) (left map[int64]string, err error) {
	taskIDs := make([]int64, len(rows))
	for i, r := range rows {
		taskIDs[i] = r.TaskID
	}
	tasks, err := c.tasksByID(taskIDs)
	if err != nil {
		return nil, err
	}
	queues, err := collect(c.ctx, c.tx, scanString, `select name from belfry.queues`)
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
			live, err := c.s.liveCycles(c.ctx, c.tx, t)
			if err != nil {
				return nil, err
			}
			if len(live) > 0 || cycles[t.ID] {
				left[r.ID] = "another run of the cycle is under way"
				continue
			}
			cycles[t.ID] = true
		}
		if r.Trigger == job.TriggerCycle {
			held, err := c.holdMember(r)
			if err != nil {
				return nil, err
			}
			if !held {
				left[r.ID] = "a cycle runs its task now"
				continue
			}
		}
		ids = append(ids, r.ID)
		if c.wake(topicQueue(r.Queue)); tasks[r.TaskID].Kind == task.KindCycle {
			c.wake(topicEngine)
		}
	}
	moved, err := collect(c.ctx, c.tx, scanInt, `
		insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, input, tags, origin, schedule, schedule_id, generation, nominal,
			due_at, ready_at, created_at, attempt, max_attempts, timeout, lease, active_key, idem_key, demand)
		select d.id, d.namespace, d.task_id, d.task, k.kind, d.queue, d.priority, 'ready', d.input, d.tags, d.origin, d.schedule, d.schedule_id, d.generation, d.nominal,
			$2, $2, d.created_at, d.attempt, d.max_attempts, d.timeout, d.lease, d.active_key, d.idem_key, k.demand
		from belfry.jobs_done d
		join belfry.tasks k on k.id = d.task_id
		where `+c.sql.In("d.id", 1)+`
		on conflict do nothing
		returning id`, c.sql.List(ids), micros(c.now))
	if err != nil {
		return nil, err
	}
	if _, err := c.tx.Exec(c.ctx, `
		insert into belfry.attempts (job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut)
		select `+lastAttempt+`
		from belfry.jobs_done
		where `+c.sql.In("id", 1)+` and outcome <> ''`, c.sql.List(moved)); err != nil {
		return nil, err
	}
	if err := c.holdBack(moved, rows, tasks); err != nil {
		return nil, err
	}
	there := map[int64]bool{}
	for _, id := range moved {
		there[id] = true
	}
	for _, id := range ids {
		if !there[id] {
			left[id] = "another live job has its active key"
		}
	}
	c.wake(topicJobs)
	_, err = c.tx.Exec(c.ctx, `delete from belfry.jobs_done where `+c.sql.In("id", 1), c.sql.List(moved))
	return left, err
}
