package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
	"github.com/belfry-run/belfry/store/newjobs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/windows"
	"github.com/belfry-run/belfry/task"
)

// EnqueueTx is [base.Store.Enqueue] inside the caller's transaction: a *sql.Tx, or
// on PostgreSQL a pgx.Tx. The jobs exist when, and only if, it commits. Call
// [base.Store.Wake] after the commit, or workers find them at their next look.
func (s *Store) EnqueueTx(ctx context.Context, tx any, ns []job.NewJob) ([]job.Enqueued, error) {
	c, err := s.adopt(ctx, tx)
	if err != nil {
		return nil, err
	}
	return c.Enqueue(ns)
}

// adopt joins the caller's transaction.
func (s *Store) adopt(ctx context.Context, tx any) (*Change, error) {
	c := s.begin(ctx)
	t, sql, at, err := s.DB().Adopt(ctx, tx)
	if err != nil {
		s.SawOutdated(err)
		return nil, err
	}
	c.Tx, c.SQL, c.Now, c.Hooks, c.Foreign = t, sql, core.Micro(at.Now), at.Hooks, true
	return c, nil
}

// Wake tells workers that their queues have new jobs. It is only needed after
// the commit of a transaction that Belfry did not commit itself.
func (s *Store) Wake(queues ...string) {
	topics := []string{base.TopicEngine, base.TopicJobs}
	for _, q := range queues {
		topics = append(topics, base.TopicQueue(q))
	}
	s.wake(topics)
}

func (s *Store) wake(topics []string) {
	if len(topics) > 0 {
		s.Hub.Wake(topics...)
		s.DB().Wakeups().Announce(topics...)
	}
}

// Insertion is a job on its way into the table.
type Insertion struct {
	JobRow
	window core.Duration // of its idempotency key
	asked  string        // what was asked for under it
	shares job.Window    // with others of its key
}

// enqueue is a batch of new jobs, some of which may be there already.
type enqueue struct {
	*Change
	ins    []Insertion
	taken  map[int]int64         // by place in the batch: the job that has its key, or stands for it in its window
	shared *windows.Taken        // the windows
	held   map[keys.Active]int64 // the jobs that have active keys
}

func (c *Change) Enqueue(ns []job.NewJob) ([]job.Enqueued, error) { return c.enqueue(ns, nil) }

// EnqueueFor enqueues a job that is asked for in another way than by an enqueue.
func (c *Change) EnqueueFor(trigger schedule.Trigger, n job.NewJob) (job.Enqueued, error) {
	c.trigger = trigger
	return job.Only(c.enqueue([]job.NewJob{n}, nil))
}

// enqueue is Enqueue with a claim that may go along.
func (c *Change) enqueue(ns []job.NewJob, along *along) ([]job.Enqueued, error) {
	if len(ns) > core.MaxBatch {
		return nil, core.Errorf(core.TooLarge, "%d jobs in one call", len(ns)).WithHint("send at most %d", core.MaxBatch)
	}
	ins, err := c.Prepare(ns)
	if err != nil {
		return nil, err
	}
	return (&enqueue{Change: c, ins: ins}).make(along)
}

// EnqueueOf enqueues a job of a schedule that is triggered by hand. It shares no window of its task.
func (c *Change) EnqueueOf(s schedule.Schedule, r job.RunNow) (job.Enqueued, error) {
	c.trigger = job.TriggerManual
	n := job.NewJob{Namespace: s.Namespace, Task: s.Task, Input: r.Input, Key: r.Key}
	asked := keys.AskedFor(n) + "/" + s.Name // as it was asked for, whatever the schedule's input is by now
	if len(n.Input) == 0 {
		n.Input = s.Input
	}
	ins, err := c.Prepare([]job.NewJob{n})
	if err != nil {
		return job.Enqueued{}, err
	}
	ins[0].Schedule, ins[0].ScheduleID, ins[0].Generation, ins[0].asked, ins[0].shares = s.Name, s.ID, s.Generation, asked, job.Window{}
	return job.Only((&enqueue{Change: c, ins: ins}).make(nil))
}

// make makes what was prepared, as far as it is not there.
func (e *enqueue) make(along *along) (out []job.Enqueued, err error) {
	c, ins := e.Change, e.ins
	if err := e.takeKeys(); err != nil {
		return nil, err
	}
	var fresh []*Insertion
	for i := range ins {
		if _, ok := e.taken[i]; !ok {
			fresh = append(fresh, &ins[i])
		}
	}
	if err := c.s.Hooks.OneRun(c, fresh); err != nil {
		return nil, err
	}
	c.s.bounds.In(c.Change).Spare(e.shared.There())
	if err := c.Admit(along == nil, fresh); err != nil {
		return nil, err
	}
	var written []*Insertion
	if written, e.held, err = c.writeJobs(fresh); err != nil {
		return nil, err
	}
	if err := e.shared.Finish(len(fresh), func(i int) (windows.Request, int64) { return fresh[i].request(), e.heldBy(fresh[i]) }); err != nil {
		return nil, err
	}
	if out, err = e.answer(); err != nil {
		return nil, err
	}
	if err := along.carry(c, written); err != nil {
		return nil, err
	}
	c.wakeForNew(along.left(written))
	return out, nil
}

// Admit refuses new jobs for which there is no room: see [bounds.Change.Admit].
func (c *Change) Admit(tell bool, ins []*Insertion) error {
	return c.s.bounds.In(c.Change).Admit(tell, len(ins), func(i int) *job.Job { return &ins[i].Job })
}

// Prepare checks what was asked for and completes it from its tasks.
func (c *Change) Prepare(ns []job.NewJob) ([]Insertion, error) {
	names := taskNames(ns)
	for i := range ns {
		ns[i].Namespace = names[i].Namespace
		if err := ns[i].Validate(c.Now); err != nil {
			return nil, err
		}
		if err := job.CheckReserved(ns[i].Queue, ns[i].Task, ""); err != nil {
			return nil, err
		}
		if task.IsTrial(ns[i].Task) && c.trigger != job.TriggerTrial {
			return nil, tasks.NoTask(ns[i].Namespace, ns[i].Task)
		}
	}
	ts, err := c.tasks().TasksByName(names)
	if err != nil {
		return nil, err
	}
	if err := c.checkQueues(ns); err != nil {
		return nil, err
	}
	if err := c.tasks().AllowJobs(ns); err != nil {
		return nil, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", len(ns))
	if err != nil {
		return nil, err
	}
	ins := make([]Insertion, len(ns))
	for i, n := range ns {
		name := base.TaskName{Namespace: n.Namespace, Name: n.Task}
		t, ok := ts[name]
		if !ok {
			if n.Kind != task.KindFunc {
				return nil, tasks.NoTask(n.Namespace, n.Task)
			}
			if t, err = c.implyTask(n); err != nil {
				return nil, err
			}
			ts[name] = t
		}
		if err := n.Fits(t); err != nil {
			return nil, err
		}
		ins[i] = Insertion{JobRow: c.NewJob(ids[i], n, t), window: n.KeyWindow, asked: keys.AskedFor(n)}
		ins[i].shares = job.WindowOf(t, ins[i].Job)
	}
	return ins, nil
}

func taskNames(ns []job.NewJob) []base.TaskName {
	names := make([]base.TaskName, len(ns))
	for i := range ns {
		names[i] = base.TaskName{Namespace: cmp.Or(ns[i].Namespace, core.DefaultNamespace), Name: ns[i].Task}
	}
	return names
}

// checkQueues looks up the queues that jobs name themselves. Those of tasks
// were checked when the task was saved.
func (c *Change) checkQueues(ns []job.NewJob) error {
	asked := map[string]bool{}
	for _, n := range ns {
		if n.Queue != "" {
			asked[n.Queue] = true
		}
	}
	for name := range asked {
		if err := c.queues().CheckQueue("queue", name); err != nil {
			return err
		}
	}
	return nil
}

// implyTask makes the task of a Go handler that someone enqueues for before
// any worker has announced it.
func (c *Change) implyTask(n job.NewJob) (task.Task, error) {
	t := task.Task{Namespace: n.Namespace, Name: n.Task, Kind: task.KindFunc}.WithDefaults()
	return c.tasks().InsertTask(t, "implied by an enqueue")
}

func (c *Change) NewJob(id int64, n job.NewJob, t task.Task) JobRow {
	j := job.Job{
		ID: id, Namespace: t.Namespace, Task: t.Name, Kind: t.Kind, Queue: t.Queue, Priority: t.Priority,
		Input: t.Input, Tags: n.Tags, Trigger: core.Or(c.trigger, job.TriggerEnqueue), CreatedAt: c.Now, DueAt: c.Now,
		MaxAttempts: t.Retry.MaxAttempts, Timeout: t.Timeout, ActiveKey: n.ActiveKey, Key: n.Key,
	}
	if n.Queue != "" {
		j.Queue = n.Queue
	}
	if n.Priority != nil {
		j.Priority = *n.Priority
	}
	if len(n.Input) > 0 {
		j.Input = n.Input
	}
	if n.MaxAttempts > 0 {
		j.MaxAttempts = n.MaxAttempts
	}
	if n.Timeout > 0 {
		j.Timeout = n.Timeout
	}
	if len(n.Tags) == 0 {
		j.Tags = t.Tags
	}
	if n.Delay > 0 {
		j.DueAt = c.Now.Add(n.Delay.D())
	} else if due := core.Micro(n.DueAt); due.After(c.Now) {
		j.DueAt = due
	}
	j.State = job.StateFor(j.DueAt.After(c.Now))
	return JobRow{Job: j, TaskID: t.ID, requirement: t.Requirement(), gates: job.GatesOf(t)}
}

// InsertJobs writes new jobs and wakes whom they concern.
func (c *Change) InsertJobs(ins []*Insertion) error {
	written, _, err := c.writeJobs(ins)
	c.wakeForNew(written)
	return err
}

// writeJobs writes new jobs, and answers those that were written and the jobs that
// hold the active keys of the others.
func (c *Change) writeJobs(ins []*Insertion) (written []*Insertion, held map[keys.Active]int64, err error) {
	if len(ins) == 0 {
		return nil, nil, nil
	}
	if err := c.s.Hooks.HoldNew(c, ins); err != nil {
		return nil, nil, err
	}
	rows, err := newRows(c, ins)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(ins, func(in *Insertion) bool { return in.ActiveKey != "" }) { // nothing can be in the way
		if err := place(c, ins, rows); err != nil {
			return nil, nil, err
		}
		insert, args := newjobs.Insert(c.SQL, rows)
		if err := base.ExecSoon(c.Ctx, c.Tx, insert, args...); err != nil {
			return nil, nil, fmt.Errorf("insert jobs: %w", err)
		}
		return ins, nil, nil
	}
	insert, args := newjobs.Insert(c.SQL, rows)
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, insert+`
		on conflict (namespace, active_key) where active_key is not null do nothing
		returning id`, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("insert jobs: %w", err)
	}
	there := make(map[int64]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	var blocked []*Insertion
	var made []newjobs.Row
	for i, in := range ins {
		if there[in.ID] {
			written, made = append(written, in), append(made, rows[i])
		} else {
			blocked = append(blocked, in)
		}
	}
	if err := placeWritten(c, written, made); err != nil {
		return nil, nil, err
	}
	held, err = c.holders(blocked)
	return written, held, err
}

func (c *Change) wakeForNew(ins []*Insertion) {
	for _, in := range ins {
		switch {
		case in.State == job.Ready && !task.RunByEngine(in.Kind):
			c.Wake(base.TopicQueue(in.Queue))
		case in.State == job.Waiting && in.Limited: // until another ends, or for its turn
		default:
			c.Wake(base.TopicEngine)
		}
	}
	if len(ins) > 0 {
		c.Wake(base.TopicJobs)
	}
}
