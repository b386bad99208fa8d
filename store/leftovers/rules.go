package leftovers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
)

// Kind is the kind of a change that jobs follow.
type Kind string

// The kinds. Owners have the form of [job.TaskOwner], [job.QueueOwner], [job.NamespaceOwner] and [ScheduleOwner].
const (
	Deleted   Kind = "deleted"   // a task was deleted: its jobs end
	Edited    Kind = "edited"    // a task needs other workers
	Limited   Kind = "limited"   // a task, a queue or a namespace got its first limits: its ready jobs have to be admitted
	Withdrawn Kind = "withdrawn" // a schedule was paused, deleted or got other times: its jobs end
)

// rule is the effect of a kind of change on the jobs of its owner.
type rule struct {
	behind string // the condition on a job that does not follow the change yet; it also has no lease
	// late: an enqueue reads the definition without a lock, so jobs by the old definition may commit after the change. A job by
	// the new definition never meets the condition behind.
	late   bool
	follow func(c *Change, l Left, ids []int64) error
}

var rules = map[Kind]rule{
	Deleted:   {behind: notUnderWay, late: true, follow: (*Change).withdraw},
	Withdrawn: {behind: notUnderWay + ` and trigger in ('schedule', 'check')`, follow: (*Change).withdrawBackwards},
	Limited:   {behind: `state = 'ready' and limited = 0`, late: true, follow: (*Change).holdBack},
	Edited: {behind: notUnderWay + `
			and (kind, requirement) <> (select k.kind, k.requirement from belfry.tasks k where k.id = task_id)`, late: true, follow: (*Change).followTask},
}

// notUnderWay leaves out cycles and workflows that are under way. A finish locks the row of its job and may wait for the row of
// the schedule, which a withdrawal has locked.
const notUnderWay = `not (kind in ('cycle', 'workflow') and state = 'waiting')`

// theirs is the condition that a job belongs to an owner, whose key is the first argument.
func (rule) theirs(owner string) string {
	switch kind, _, _ := strings.Cut(owner, ":"); kind {
	case "task":
		return `task_id = $1`
	case "schedule":
		return `schedule_id = $1`
	case "queue":
		return `queue = $1`
	}
	return `namespace = $1`
}

// ownerKey returns the key of an owner: an id, or the name of a queue or namespace.
func ownerKey(owner string) any {
	kind, key, _ := strings.Cut(owner, ":")
	if kind == "task" || kind == "schedule" {
		id, _ := strconv.ParseInt(key, 10, 64)
		return id
	}
	return key
}

// ScheduleOwner names a schedule as the owner of jobs.
func ScheduleOwner(id int64) string { return "schedule:" + strconv.FormatInt(id, 10) }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) withdraw(l Left, ids []int64) error {
	return c.jobs().WithdrawJobs(ids, l.Reason, l.Note)
}

// withdrawBackwards is withdraw in a transition that pauses, edits or deletes a schedule, and has locked it.
func (c *Change) withdrawBackwards(l Left, ids []int64) error {
	locks.Backwards(c.Change)
	if err := c.jobs().HoldNow(ids); err != nil {
		return err
	}
	return c.withdraw(l, ids)
}

// holdBack schedules ready jobs, so that the engine has to admit them.
func (c *Change) holdBack(_ Left, ids []int64) error {
	rows, err := c.jobs().LockJobs(ids)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(j jobs.JobRow) bool { return j.State != job.Ready || j.Limited }) // jobs that were claimed or admitted meanwhile
	return c.s.jobs.Limits().In(c.Change).AdmitAgain(idsOf(rows))
}

// followTask updates the kind and requirement of jobs from their tasks: they decide which workers may claim the jobs.
func (c *Change) followTask(_ Left, ids []int64) error {
	c.After(c.s.jobs.ForgetMarks) // a worker may now be able to run a job before its mark
	queues, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `
		update belfry.jobs
		set (kind, requirement) = (select k.kind, k.requirement from belfry.tasks k where k.id = belfry.jobs.task_id)
		where `+c.SQL.In("id", 1)+` and `+c.s.Unleased()+`
		returning queue`, c.SQL.List(ids))
	for _, q := range base.Unique(queues) {
		c.Wake(base.TopicQueue(q))
	}
	c.Wake(base.TopicJobs)
	return err
}

func idsOf(rows []jobs.JobRow) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// CatchUp applies leftovers to jobs that a claim of a session has just leased. It gives back the leases of jobs that did not follow
// a change, by unlease, and returns the others.
func (c *Change) CatchUp(w job.WorkerState, rows []jobs.JobRow, unlease func([]jobs.JobRow) error) ([]jobs.JobRow, error) {
	var owners []string
	taskIDs := make([]int64, len(rows))
	for i := range rows {
		taskIDs[i] = rows[i].TaskID
		owners = append(owners, job.TaskOwner(rows[i].TaskID), ScheduleOwner(rows[i].ScheduleID))
	}
	find, err := c.leftOf(base.Unique(owners))
	if err != nil {
		return rows, err
	}
	tasks, err := c.s.tasks.In(c.Change).TasksByID(taskIDs)
	if err != nil {
		return rows, err
	}
	limits := c.s.jobs.Limits().In(c.Change)
	holds, err := limits.HasLimits(len(rows), func(i int) (*job.Job, []job.Gate) { return &rows[i].Job, job.GatesOf(tasks[rows[i].TaskID]) })
	if err != nil {
		return rows, err
	}
	var kept, behind []jobs.JobRow
	var held, edited []int64
	withdrawn := map[Left][]int64{}
	for i, j := range rows {
		t, there := tasks[j.TaskID]
		gone, isGone := find(Withdrawn, ScheduleOwner(j.ScheduleID), j.ID)
		_, isEdited := find(Edited, job.TaskOwner(j.TaskID), j.ID)
		switch {
		case !there: // the task was deleted, and the claim ends the job
			kept = append(kept, j)
			continue
		case isGone && (j.Trigger == job.TriggerSchedule || j.Trigger == job.TriggerCheck):
			withdrawn[gone] = append(withdrawn[gone], j.ID)
		case isEdited && (j.Kind != t.Kind || !task.RunByEngine(t.Kind) && (!w.Handles(t.Kind, j.Task) || !w.Runs(t.Kind) || !t.Requirement().Meets(w.Has))):
			edited = append(edited, j.ID)
		case holds[i] && !j.Limited:
			held = append(held, j.ID)
		default:
			kept = append(kept, j)
			continue
		}
		behind = append(behind, j)
	}
	if len(behind) == 0 {
		return rows, nil
	}
	if err := unlease(behind); err != nil {
		return nil, err
	}
	if len(edited) > 0 {
		if err := c.followTask(Left{}, edited); err != nil {
			return nil, err
		}
	}
	if err := limits.AdmitAgain(held); err != nil {
		return nil, err
	}
	for l, ids := range withdrawn {
		if err := c.withdraw(l, ids); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// leftOf reads the leftovers of some owners. The func find returns the leftover that a job does not follow yet.
func (c *Change) leftOf(owners []string) (find func(kind Kind, owner string, id int64) (Left, bool), err error) {
	type change struct {
		kind  Kind
		owner string
	}
	lefts := map[change]Left{}
	_, err = base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		l, err := scan(rows)
		lefts[change{l.Kind, l.Owner}] = l
		return none, err
	}, `select `+columns+` from belfry.leftovers where `+c.SQL.In("owner", 1), c.SQL.List(owners))
	return func(kind Kind, owner string, id int64) (Left, bool) {
		l, found := lefts[change{kind, owner}]
		return l, found && l.After < id && id <= l.Until
	}, err
}

// TaskNeedsOthers reports whether an edit of a task changes which workers may claim its jobs.
func TaskNeedsOthers(old, t task.Task) bool {
	was := old.Requirement()
	return old.Kind != t.Kind || was.String() != t.Requirement().String()
}
