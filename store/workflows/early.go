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

// A run has a row from its begin on. Signals sent before are kept under the lock of its job, with which it begins and ends.

// lockEarly locks a run of a namespace, or the job of one that has not begun. That is answered as it would begin now, as is
// one that was retried and has not begun again, and is not to be saved.
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
			again, err := p.again(c.Ctx, c.Tx, c.Now)
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
		if held, err = c.jobs().LockJobs([]int64{id}); err != nil { // it may begin or end meanwhile
			return p, false, err
		}
		c.Wake(base.TopicEngine) // whose pass steps over the job as long as it is locked
	}
}

// again has a run that ended stand as it will go on, if it was retried and has not begun again: with a limit or a paused
// queue that takes a while.
func (p *progress) again(ctx context.Context, tx base.Tx, now time.Time) (bool, error) {
	if p.EndedAt.IsZero() {
		return false, nil
	}
	_, live, err := base.First(ctx, tx, base.ScanInt, `select id from belfry.jobs where id = $1`, p.JobID)
	if err == nil && live {
		p.Retry(p.plan, p.Edited, now)
	}
	return live, err
}

// unbegun is a run as it would begin now. Its workflow may be edited until then.
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

// workflowOf is the workflow of a job's task as it is now, nil if it has none.
func workflowOf(ctx context.Context, tx base.Tx, s *Store, j jobs.JobRow) (*task.Workflow, error) {
	tasks, err := s.tasks.TasksByID(ctx, tx, []int64{j.TaskID})
	if err != nil {
		return nil, err
	}
	return tasks[j.TaskID].Workflow, nil
}

// liveRun reports whether the job of a run is live. One that is none of a workflow of the namespace is not found. It is one
// look at both, because a retry may bring the job back at any moment.
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
	return core.Errorf(core.NotFound, "job %d is not a run of a workflow", id).WithHint("see: belfry job list")
}

// noRun says why there is no run: its job has not begun, never did, or is none of a workflow of that namespace.
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

// linkedEarly is what a link asks for a run that has no row.
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

// ofRun reports that a job is a run of a workflow, begun or not.
func ofRun(ctx context.Context, tx base.Tx, id int64) (bool, error) {
	_, found, err := base.First(ctx, tx, base.ScanInt, `
		select job_id from belfry.workflow_runs where job_id = $1
		union all
		select id from belfry.jobs where id = $1 and kind = 'workflow'
		union all
		select id from belfry.jobs_done where id = $1 and kind = 'workflow'`, id)
	return found, err
}
