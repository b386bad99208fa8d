package workflows

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/links"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// A run has a row only after it has begun. Earlier signals are stored under the lock of its job, which also guards its begin
// and its end.

// lockEarly locks a run of a namespace, or the job of a run that has not begun. A run that has not begun, also not after a
// retry, is returned as it would begin now. The caller must not save it.
func (c *Change) lockEarly(namespace string, id int64) (p progress, begun bool, err error) {
	var held []jobs.JobRow
	for {
		p, begun, err = base.First(c.Ctx, c.Tx, scanProgress, selectRuns+` where job_id = $1`+c.SQL.ForUpdate("workflow_runs"), id)
		switch {
		case err != nil:
			return p, false, err
		case begun && namespace != core.AnyNamespace && p.Namespace != namespace:
			return p, false, isNoRun(id)
		case begun:
			again, err := p.retried(c.Ctx, c.Tx, c.Now)
			return p, !again, err
		case len(held) > 0:
			p, err = c.unbegun(held[0])
			return p, false, err
		}
		live, err := liveRun(c.Ctx, c.Tx, namespace, id)
		if err != nil {
			return p, false, err
		}
		if !live {
			return p, false, core.Errorf(core.Conflict, "workflow run %d ended before it began", id).WithHint("belfry job show %d", id)
		}
		if held, err = c.jobs().LockJobs([]int64{id}); err != nil { // the run may begin or end meanwhile
			return p, false, err
		}
		c.Wake(base.TopicEngine) // the pass of the engine skips the job while it is locked
	}
}

// retried reports that an ended run was retried and has not begun again, and sets it to the state in which it will continue.
// With a limit or a paused queue that state can last.
func (p *progress) retried(ctx context.Context, tx base.Tx, now time.Time) (bool, error) {
	if p.EndedAt.IsZero() {
		return false, nil
	}
	_, live, err := base.First(ctx, tx, base.ScanInt, `select id from belfry.jobs where id = $1`, p.JobID)
	if err == nil && live {
		p.Retry(p.plan, p.Edited, now)
	}
	return live, err
}

// unbegun returns a run as it would begin now. Its workflow may still be edited before it begins.
func (c *Change) unbegun(j jobs.JobRow) (p progress, err error) {
	w, err := workflowOf(c.Ctx, c.Tx, c.s, j)
	if err != nil {
		return p, err
	}
	if w == nil {
		return p, core.Errorf(core.Conflict, "task %q of run %d is no longer a workflow", j.Task, j.ID).WithHint("belfry job show %d", j.ID)
	}
	p.plan = workflow.Plan{Workflow: *w}
	p.Run = workflow.Begin(p.plan, workflow.Run{JobID: j.ID, Namespace: j.Namespace, Workflow: j.Task}, c.Now)
	return p, nil
}

// workflowOf returns the current workflow of a job's task, or nil if the task has none.
func workflowOf(ctx context.Context, tx base.Tx, s *Store, j jobs.JobRow) (*task.Workflow, error) {
	tasks, err := s.tasks.TasksByID(ctx, tx, []int64{j.TaskID})
	if err != nil {
		return nil, err
	}
	return tasks[j.TaskID].Workflow, nil
}

// liveRun reports whether the job of a run is live. A job that is not a run of a workflow of the namespace is not found. One
// query reads both tables, because a retry may move the job between them at any moment.
func liveRun(ctx context.Context, tx base.Tx, namespace string, id int64) (live bool, err error) {
	type row struct {
		of   string
		live int64
	}
	r, found, err := base.First(ctx, tx, func(rows base.Rows) (r row, err error) {
		err = rows.Scan(&r.of, &r.live)
		return r, err
	}, `
		select namespace, 1 from belfry.jobs where id = $1 and kind = 'workflow'
		union all
		select namespace, 0 from belfry.jobs_done where id = $1 and kind = 'workflow'`, id)
	if err == nil && (!found || namespace != core.AnyNamespace && r.of != namespace) {
		err = isNoRun(id)
	}
	return r.live == 1, err
}

func isNoRun(id int64) error {
	return core.Errorf(core.NotFound, "job %d is not a run of a workflow, or is no longer kept", id).WithHint("see: belfry job list")
}

// noRun returns the error for a run without a row: the job has not begun, never began, or is not a run in that namespace.
func noRun(ctx context.Context, tx base.Tx, namespace string, id int64) error {
	live, err := liveRun(ctx, tx, namespace, id)
	switch {
	case err != nil:
		return err
	case live:
		return core.Errorf(core.NotFound, "run %d has not begun", id).WithHint("see what it waits for: belfry job why %d", id)
	}
	return core.Errorf(core.NotFound, "run %d ended before it began", id).WithHint("see: belfry job show %d", id)
}

// linkedEarly returns the question of a link whose run has no row.
func (s *Store) linkedEarly(ctx context.Context, tx base.Tx, l links.Row, j jobs.JobRow) (out workflow.Linked, err error) {
	out = workflow.Linked{Name: l.Name, ExpiresAt: l.ExpiresAt, RunID: l.JobID, Workflow: j.Task, Ended: j.State.Final()}
	w, err := workflowOf(ctx, tx, s, j)
	if err != nil || w == nil {
		return out, err
	}
	if at := w.Find(l.Name); at >= 0 {
		out.Approval, out.State = w.Steps[at].Approval, workflow.Pending
	}
	return out, nil
}

// ofRun reports that a job is a run of a workflow, whether it has begun or not.
func ofRun(ctx context.Context, tx base.Tx, id int64) (bool, error) {
	_, found, err := base.First(ctx, tx, base.ScanInt, `
		select job_id from belfry.workflow_runs where job_id = $1
		union all
		select id from belfry.jobs where id = $1 and kind = 'workflow'
		union all
		select id from belfry.jobs_done where id = $1 and kind = 'workflow'`, id)
	return found, err
}
