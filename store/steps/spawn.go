package steps

import (
	"encoding/json"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

func (c *Change) namespaceOf(id int64) (string, error) {
	namespace, _, err := base.First(c.Ctx, c.Tx, base.ScanString, `select namespace from belfry.jobs where id = $1`, id)
	return namespace, err
}

// spawn enqueues the job of a step, in the namespace of the step's own job.
func (c *Change) spawn(parent int64, n job.NewJob) (int64, error) {
	namespace, err := c.namespaceOf(parent)
	if err != nil {
		return 0, err
	}
	if n.Namespace != "" && n.Namespace != namespace {
		return 0, core.InvalidField("job.namespace", n.Namespace, "must be that of the job that it is a step of", "leave it out")
	}
	n.Namespace = namespace
	made, err := c.jobs().EnqueueFor(job.TriggerSpawn, n)
	if err == nil && (made.Existing || made.Job.Trigger != job.TriggerSpawn) { // a step must not wait for a job of another caller
		err = core.Errorf(core.Conflict, "task %q is debounced or throttled, and the request would be answered with job %d, which is another's", n.Task, made.Job.ID).
			WithHint("enqueue it within a step of kind step, and do not wait for it")
	}
	return made.Job.ID, err
}

// holdChild locks a child job until the step that waits for it is saved. It rejects a wait for a job that the step's own job
// did not enqueue. So a wait reads nothing that its caller may not read, and jobs cannot wait for each other in a circle.
func (c *Change) holdChild(parent, child int64) error {
	_, own, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select number from belfry.steps where job_id = $1 and kind = 'spawn' and child = $2`, parent, child)
	if err == nil && !own {
		err = core.Errorf(core.Conflict, "job %d was not enqueued by a step of job %d, which alone may wait for its end", child, parent).
			WithHint("enqueue it by a step of kind spawn, worker.Spawn in Go")
	}
	if err != nil {
		return err
	}
	if err := c.hold(child); err != nil {
		return err
	}
	// The row is written, not only locked. A caller's transaction with an older snapshot that ends the child would not see the
	// step: now it fails.
	_, err = c.Tx.Exec(c.Ctx, `update belfry.jobs set note = note where id = $1`, child)
	return err
}

// hold locks a job unless it has ended. If a retry moves the job back between the lock and the look, hold tries again.
func (c *Change) hold(id int64) error {
	for {
		rows, err := c.jobs().LockJobs([]int64{id})
		if err != nil || len(rows) > 0 {
			return err
		}
		j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, core.AnyNamespace, id)
		if core.CodeOf(err) == core.NotFound {
			return nil
		}
		if err != nil || j.State.Final() {
			return err
		}
	}
}

// childResult returns the end of a job as the result of a step, or nil if the job has not ended.
func (c *Change) childResult(child int64) (json.RawMessage, error) {
	j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, core.AnyNamespace, child)
	if core.CodeOf(err) == core.NotFound {
		return nil, core.Errorf(core.NotFound, "job %d is no longer kept, and how it ended is not known", child).
			WithHint("keep ended jobs for longer than others wait for them, or forget the steps that enqueued it: belfry job reset-steps")
	}
	if err != nil || !j.State.Final() {
		return nil, err
	}
	return job.EndedOf(j.Job).Text(), nil
}

// Follow ends the waits for jobs that have ended. children are the jobs that succeeded. Only jobs that a step has enqueued are
// looked up.
func (c *Change) Follow(ends []jobs.Ending, children []int64) error {
	ids := children
	for _, e := range ends {
		if e.Row.Trigger == job.TriggerSpawn && e.Settled.State.Final() {
			ids = append(ids, e.Row.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	parents, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select job_id
		from belfry.steps
		where `+c.SQL.In("child", 1)+` and kind = 'await' and ended_at = 0`, c.SQL.List(ids))
	if err != nil || len(parents) == 0 {
		return err
	}
	parents = base.Unique(parents)
	if err := c.jobs().HoldNow(parents); err != nil {
		return err
	}
	rows, err := c.jobs().LockJobs(parents)
	if err != nil {
		return err
	}
	for _, parent := range parents {
		wait, waits, err := base.First(c.Ctx, c.Tx, scan, `select `+columns+` from belfry.steps where job_id = $1 and kind = 'await' and ended_at = 0`, parent)
		if err != nil {
			return err
		}
		if !waits || !slices.Contains(ids, wait.Child) {
			continue
		}
		how, err := c.childResult(wait.Child)
		if err != nil || how == nil {
			return err
		}
		if err := c.endWait(parent, &wait, how); err != nil {
			return err
		}
		// A job that has ended itself is not woken. A later manual retry finds the result in its steps, even if the child has
		// been removed.
		if i := slices.IndexFunc(rows, func(j jobs.JobRow) bool { return j.ID == parent }); i >= 0 {
			if err := c.wakeJob(rows[i].Job, wait.told); err != nil {
				return err
			}
		}
	}
	return nil
}
