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

// spawn enqueues the job of a step, in the namespace of the job that it is a step of.
func (c *Change) spawn(parent int64, n job.NewJob) (int64, error) {
	namespace, err := c.namespaceOf(parent)
	if err != nil {
		return 0, err
	}
	if n.Namespace != "" && n.Namespace != namespace {
		return 0, core.InvalidField("job.namespace", n.Namespace, "must be that of the job that it is a step of", "leave it out")
	}
	n.Namespace = namespace
	made, err := c.jobs().Spawn(n)
	return made.Job.ID, err
}

// holdChild keeps a job from ending until the step is there that waits for it, or refuses the wait.
func (c *Change) holdChild(parent, child int64) error {
	if _, err := c.jobs().LockJobs([]int64{child}); err != nil {
		return err
	}
	namespace, err := c.namespaceOf(parent)
	if err != nil {
		return err
	}
	j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, namespace, child)
	switch {
	case err != nil:
		return err
	case j.State.Final():
		return nil
	case j.Trigger != job.TriggerSpawn: // its end looks for no step
		return core.Errorf(core.Conflict, "job %d was not enqueued by a step, and no step can wait for its end", child).
			WithHint("enqueue it by a step of kind spawn, worker.Spawn in Go")
	}
	const longest = 100 // of jobs that wait for each other
	for at, n := child, 0; n < longest; n++ {
		if at == parent {
			return core.Errorf(core.Conflict, "job %d waits for the end of job %d already, and would never end", child, parent).
				WithHint("see: belfry job steps %d", child)
		}
		var waits bool
		if at, waits, err = base.First(c.Ctx, c.Tx, base.ScanInt, `select child from belfry.steps where job_id = $1 and kind = 'await' and ended_at = 0`, at); err != nil || !waits {
			return err
		}
	}
	return nil
}

// ended is how a job ended, as the result of a step; nothing if it has not.
func (c *Change) ended(child int64) (json.RawMessage, error) {
	j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, core.AnyNamespace, child)
	if err != nil || !j.State.Final() {
		return nil, err
	}
	return json.RawMessage(base.Text(job.EndedOf(j.Job))), nil
}

// FollowChildren ends the waits for jobs that have ended. Only those that a step has enqueued are looked for.
func (c *Change) FollowChildren(ends []jobs.Ending) error {
	var ids []int64
	for _, e := range ends {
		if e.Row.Trigger == job.TriggerSpawn && e.Settled.State.Final() {
			ids = append(ids, e.Row.ID)
		}
	}
	return c.ChildrenEnded(ids)
}

// ChildrenEnded is FollowChildren for jobs that a step has enqueued.
func (c *Change) ChildrenEnded(ids []int64) error {
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
	rows, err := c.jobs().LockJobs(base.Unique(parents))
	if err != nil {
		return err
	}
	for _, j := range rows {
		wait, waits, err := base.First(c.Ctx, c.Tx, scan, `select `+columns+` from belfry.steps where job_id = $1 and kind = 'await' and ended_at = 0`, j.ID)
		if err != nil {
			return err
		}
		if !waits || !slices.Contains(ids, wait.Child) {
			continue
		}
		how, err := c.ended(wait.Child)
		if err != nil || how == nil {
			return err
		}
		if err := c.end(j.ID, &wait, how); err != nil {
			return err
		}
		if err := c.wake(j.Job, wait.told); err != nil {
			return err
		}
	}
	return nil
}
