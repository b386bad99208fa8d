package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// CancelJobs ends jobs that wait and asks those that run to end. What has
// ended already is left, with the reason.
func (s *Store) CancelJobs(ctx context.Context, namespace string, sel view.Selection) (out view.Selected, err error) {
	if sel, err = s.readSelection(ctx, sel); err != nil {
		return out, err
	}
	err = s.bulk(ctx, "cancel", sel.DryRun, func(c *Change) error {
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
		if err := c.jobs().CancelRows(rows, schedule.ReasonCanceled, note); err != nil {
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
func (c *Change) selectJobs(namespace string, sel view.Selection, unfit func(job.State) bool, why string) ([]jobs.JobRow, view.Selected, error) {
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
	byID := make(map[int64]jobs.JobRow, len(rows))
	for _, r := range rows {
		if namespace == core.AnyNamespace || r.Namespace == namespace {
			byID[r.ID] = r
		}
	}
	var fit []jobs.JobRow
	for _, id := range base.Unique(ids) {
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
func (c *Change) heldJobs(ids []int64, dry bool) ([]jobs.JobRow, error) {
	if dry {
		return c.s.jobs.JobsByID(c.Ctx, c.Tx, ids)
	}
	locked, err := c.jobs().LockJobs(ids)
	if err != nil {
		return nil, err
	}
	return c.withDone(ids, locked)
}

// bulk runs a bulk action. A dry run of it is a read: it waits for no writer and
// holds up none.
func (s *Store) bulk(ctx context.Context, name string, dry bool, fn func(c *Change) error) error {
	if !dry {
		return s.write(ctx, name, fn)
	}
	return s.DB().Read(ctx, func(tx base.Tx) error {
		c := s.begin(ctx)
		c.Tx, c.SQL = tx, s.SQL
		return fn(c)
	})
}

// filterJobs finds the oldest jobs that a filter names and an action fits, from
// the cursor on, and says where to go on. Ids only grow, so what is done to some
// of them, and what cannot be done to others, moves none into or out of what is
// to come.
func (c *Change) filterJobs(namespace string, sel view.Selection, unfit func(job.State) bool, out *view.Selected) (ids []int64, err error) {
	f := *sel.Filter
	f.Namespace = namespace
	fit := slices.DeleteFunc(slices.Clone(job.States), unfit)
	if len(f.States) == 0 {
		f.States = fit
	}
	after, err := base.DecodeIDCursor(sel.Cursor)
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
		if count, err = c.s.CountIn(c.Ctx, c.Tx, f, view.CountOptions{}.Bound(), LookCount); err != nil {
			return nil, err
		}
		out.Count = &count
	}
	rows, l, err := c.s.searchJobs(c.Ctx, c.Tx, f, after, limit, lookBulk, "asc")
	if err != nil {
		return nil, err
	}
	if l.until > 0 {
		out.More, out.Next = true, base.EncodeCursor(strconv.FormatInt(l.until, 10))
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// withDone adds the finished ones among ids to the live ones that are locked.
func (c *Change) withDone(ids []int64, live []jobs.JobRow) ([]jobs.JobRow, error) {
	if len(live) == len(ids) || len(ids) == 0 {
		return live, nil
	}
	done, err := base.Collect(c.Ctx, c.Tx, jobs.ScanJob, jobs.SelectDone+` where `+c.SQL.In("id", 1), c.SQL.List(ids))
	return append(live, done...), err
}

// auditJobs writes one row for one job, and one for a whole batch.
func (c *Change) auditJobs(action string, rows []jobs.JobRow, note string) error {
	perNamespace := map[string][]int64{}
	for _, r := range rows {
		perNamespace[r.Namespace] = append(perNamespace[r.Namespace], r.ID)
	}
	for namespace, ids := range perNamespace {
		name := fmt.Sprint(ids[0])
		if len(ids) > 1 {
			name = fmt.Sprintf("%d jobs", len(ids))
		}
		if err := c.Audit(action, "job", namespace, name, note, nil, ids); err != nil {
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
	err = s.bulk(ctx, "retry", sel.DryRun, func(c *Change) error {
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
		var done []jobs.JobRow
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
		if c.Wake(base.TopicQueue(r.Queue)); tasks[r.TaskID].Kind == task.KindCycle {
			c.Wake(base.TopicEngine)
		}
	}
	moved, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, input, tags, trigger, schedule, schedule_id, generation, nominal,
			due_at, ready_at, created_at, attempt, max_attempts, timeout, lease, active_key, idem_key, requirement)
		select d.id, d.namespace, d.task_id, d.task, k.kind, d.queue, d.priority, 'ready', d.input, d.tags, d.trigger, d.schedule, d.schedule_id, d.generation, d.nominal,
			$2, $2, d.created_at, d.attempt, d.max_attempts, d.timeout, d.lease, d.active_key, d.idem_key, k.requirement
		from belfry.jobs_done d
		join belfry.tasks k on k.id = d.task_id
		where `+c.SQL.In("d.id", 1)+`
		on conflict do nothing
		returning id`, c.SQL.List(ids), base.Micros(c.Now))
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
	there := map[int64]bool{}
	for _, id := range moved {
		there[id] = true
	}
	for _, id := range ids {
		if !there[id] {
			left[id] = "another live job has its active key"
		}
	}
	c.Wake(base.TopicJobs)
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.jobs_done where `+c.SQL.In("id", 1), c.SQL.List(moved))
	return left, err
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
