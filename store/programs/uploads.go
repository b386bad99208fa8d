package programs

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/task"
)

// A job of a program waits until the bytes of its artifact have arrived. It is created waiting, and the confirmation of the
// upload releases it in the same transaction. Other kinds of jobs never get here.
//
// A transition that makes a job wait holds the rows of its task and of the artifact, and so does a transition that releases
// jobs. So either the release sees the job, or the new job sees that it need not wait.

// pendingUploads returns the tasks whose artifact is not uploaded. If there are any, it reads again under their locks.
func (c *Change) pendingUploads(tasks []int64) (map[int64]bool, error) {
	missing, err := c.readPendingUploads(tasks)
	if err != nil || len(missing) == 0 || c.SQL.ForUpdate("t") == "" {
		return missing, err
	}
	ids := c.SQL.List(tasks)
	if _, err := c.Tx.Exec(c.Ctx, `select t.id from belfry.tasks t where `+c.SQL.In("t.id", 1)+` order by t.id`+c.SQL.ForKeyShare("t"), ids); err != nil {
		return nil, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		select a.sha256
		from belfry.artifacts a
		where (a.namespace, a.sha256) in (select t.namespace, t.artifact from belfry.tasks t where `+c.SQL.In("t.id", 1)+`)
		order by a.namespace, a.sha256`+c.SQL.ForUpdate("a"), ids); err != nil {
		return nil, err
	}
	return c.readPendingUploads(tasks)
}

func (c *Change) readPendingUploads(tasks []int64) (map[int64]bool, error) {
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select t.id
		from belfry.tasks t
		left join belfry.artifacts a on a.namespace = t.namespace and a.sha256 = t.artifact
		where `+c.SQL.In("t.id", 1)+` and t.artifact <> '' and coalesce(a.posted_at, 0) = 0`, c.SQL.List(tasks))
	missing := make(map[int64]bool, len(ids))
	for _, id := range ids {
		missing[id] = true
	}
	return missing, err
}

// HoldNew makes new jobs of programs wait if their artifact is not uploaded.
func (c *Change) HoldNew(ins []*jobs.Insertion) error {
	var tasks []int64
	for _, in := range ins {
		if in.Kind == task.KindProgram {
			tasks = append(tasks, in.TaskID)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	missing, err := c.pendingUploads(base.Unique(tasks))
	if err != nil || len(missing) == 0 {
		return err
	}
	for _, in := range ins {
		if in.Kind == task.KindProgram && missing[in.TaskID] {
			in.State = job.Waiting
		}
	}
	return nil
}

// HoldBack does the same for retried jobs.
func (c *Change) HoldBack(moved []int64, rows []jobs.JobRow, tasks map[int64]task.Task) error {
	var of, ids []int64
	for _, r := range rows {
		if tasks[r.TaskID].Kind == task.KindProgram {
			of = append(of, r.TaskID)
		}
	}
	if len(of) == 0 {
		return nil
	}
	missing, err := c.pendingUploads(base.Unique(of))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if missing[r.TaskID] && slices.Contains(moved, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return c.hold(ids)
}

// hold makes live jobs of programs without a lease wait.
func (c *Change) hold(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := c.s.jobs.Limits().In(c.Change).ReleaseLimited(ids); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set state = 'waiting', ready_at = 0, limited = 0, reason = ''
		where kind = 'program' and `+c.SQL.In("id", 1), c.SQL.List(ids))
	return err
}

// holdOf holds the jobs of a task that have not started, after an edit to an artifact that is not uploaded.
func (c *Change) holdOf(t task.Task) error {
	missing, err := c.pendingUploads([]int64{t.ID})
	if err != nil || !missing[t.ID] {
		return err
	}
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where task_id = $1 and kind = 'program' and state in ('ready', 'scheduled') and `+c.s.Unleased()+`
		order by id`, t.ID)
	if err != nil {
		return err
	}
	rows, err := c.jobs().LockJobs(ids)
	if err != nil {
		return err
	}
	var idle []int64
	for _, j := range rows {
		if j.State != job.Running { // otherwise it was claimed meanwhile, with the task before the edit
			idle = append(idle, j.ID)
		}
	}
	return c.hold(idle)
}

// leaveArtifact releases the jobs that waited for an artifact that their task no longer runs. They are held again if the new
// artifact is not uploaded.
func (c *Change) leaveArtifact(old task.Task) error {
	if err := c.ReleaseArtifact(old); err != nil {
		return err
	}
	return c.releaseUploads(`($2)`, old.ID)
}

// releaseUploads releases jobs that waited for an upload. Jobs that are due are ready at once, in the order of their due times,
// and the others at their time. tasks is a list of ids whose parameters begin with $2.
func (c *Change) releaseUploads(tasks string, args ...any) error {
	held, err := c.s.jobs.Limits().In(c.Change).LimitedJobs() // by limits of their tasks, queues and namespaces
	if err != nil {
		return err
	}
	var turned turns.Again
	queues, err := base.Collect(c.Ctx, c.Tx, turned.Scan, `
		with free as materialized (
			select id, row_number() over (order by due_at, id) as place, `+core.Or(held, `1 = 0`)+` as gated
			from belfry.jobs
			where kind = 'program' and state = 'waiting' and limited = 0 and task_id in `+tasks+`)
		update belfry.jobs
		set state = case when due_at > $1 or gated then 'scheduled' else 'ready' end,
			due_at = case when due_at < $1 and gated then $1 else due_at end,
			ready_at = case when due_at > $1 or gated then 0 else $1 + place - 1 end,
			turn = case when due_at > $1 or gated then 0 else $1 + place - 1 end
		from free
		where belfry.jobs.id = free.id and state = 'waiting'
		returning case when state = 'ready' then queue else '' end, belfry.jobs.id, `+turns.BaseOf, append([]any{base.Micros(c.Now)}, args...)...)
	if err != nil {
		return err
	}
	if err := c.s.jobs.Turns().In(c.Change).PlaceAgain(turned); err != nil {
		return err
	}
	for _, q := range base.Unique(queues) {
		if q == "" { // due later
			c.Wake(base.TopicEngine)
			continue
		}
		c.Wake(base.TopicQueue(q))
	}
	if len(queues) > 0 {
		c.Wake(base.TopicJobs)
	}
	return nil
}

// LeaveForAnother and HoldForAnother are called for an edited task, before and after its jobs follow it. Jobs that waited for
// an artifact that the task no longer runs are released, and wait for the new artifact if it is not uploaded.
func (c *Change) LeaveForAnother(old, t task.Task) error {
	if tasks.ArtifactOf(old) == tasks.ArtifactOf(t) || old.Kind != task.KindProgram {
		return nil
	}
	return c.leaveArtifact(old)
}

// HoldForAnother makes the waiting jobs of a task wait for its new artifact, if an edit changed the artifact of a program.
func (c *Change) HoldForAnother(old, t task.Task) error {
	if tasks.ArtifactOf(old) == tasks.ArtifactOf(t) || t.Kind != task.KindProgram {
		return nil
	}
	return c.holdOf(t)
}
