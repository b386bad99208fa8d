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

// EnqueueTx is [Store.Enqueue] inside the caller's transaction: a *sql.Tx, or on PostgreSQL a pgx.Tx. The jobs exist when, and
// only if, it commits. Call [Store.Wake] after the commit; otherwise workers find the jobs at their next poll.
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

// Wake wakes the claims that wait for jobs of queues. It is only needed after a commit that Belfry did not make itself.
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

// Insertion is a job to be inserted.
type Insertion struct {
	JobRow
	window core.Duration // of the idempotency key
	asked  string        // the request under the idempotency key
	shares job.Window    // throttle or debounce window that the job shares
}

// enqueue is a batch of requested jobs. Some of them may exist already.
type enqueue struct {
	*Change
	ins    []Insertion
	taken  map[int]int64         // by index in the batch: the job that has the idempotency key, or replaces the job in its window
	shared *windows.Taken        // the windows
	held   map[keys.Active]int64 // the jobs that have the active keys
}

// Enqueue creates jobs in this transaction, and returns one answer for each request, in their order. An invalid request fails
// all.
func (c *Change) Enqueue(ns []job.NewJob) ([]job.Enqueued, error) { return c.enqueue(ns, nil) }

// EnqueueFor enqueues a job with another trigger than enqueue.
func (c *Change) EnqueueFor(trigger schedule.Trigger, n job.NewJob) (job.Enqueued, error) {
	c.trigger = trigger
	return job.Only(c.enqueue([]job.NewJob{n}, nil))
}

// enqueue is Enqueue, and may carry out a waiting claim.
func (c *Change) enqueue(ns []job.NewJob, joined *joinedClaim) ([]job.Enqueued, error) {
	if len(ns) > core.MaxBatch {
		return nil, job.TooMany("jobs", len(ns))
	}
	ins, err := c.Prepare(ns)
	if err != nil {
		return nil, err
	}
	return (&enqueue{Change: c, ins: ins}).make(joined)
}

// EnqueueOf enqueues a job of a schedule that is triggered manually. The job shares no window of its task.
func (c *Change) EnqueueOf(s schedule.Schedule, r job.RunNow) (job.Enqueued, error) {
	c.trigger = job.TriggerManual
	n := job.NewJob{Namespace: s.Namespace, Task: s.Task, Input: r.Input, Key: r.Key}
	asked := keys.AskedFor(n) + "/" + s.Name // the request itself: the input of the schedule may change between two requests
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

// make makes the prepared jobs that do not exist yet.
func (e *enqueue) make(joined *joinedClaim) (out []job.Enqueued, err error) {
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
	if err := c.Admit(joined == nil, fresh); err != nil {
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
	if err := joined.carry(c, written); err != nil {
		return nil, err
	}
	c.wakeForNew(joined.left(written))
	return out, nil
}

// Admit refuses new jobs that quotas or full queues do not admit: see [bounds.Change.Admit].
func (c *Change) Admit(tell bool, ins []*Insertion) error {
	return c.s.bounds.In(c.Change).Admit(tell, len(ins), func(i int) *job.Job { return &ins[i].Job })
}

// Prepare checks requested jobs and completes them from their tasks.
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

// implyTask makes the task of a Go handler, for a job that is enqueued before any worker has announced the handler.
func (c *Change) implyTask(n job.NewJob) (task.Task, error) {
	t := task.Task{Namespace: n.Namespace, Name: n.Task, Kind: task.KindFunc}.WithDefaults()
	return c.tasks().InsertTask(t, "implied by an enqueue")
}

// NewJob returns the row of a new job of a task, due now unless the request names a time. It writes nothing.
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

// InsertJobs writes new jobs, and wakes claims or the engine for them.
func (c *Change) InsertJobs(ins []*Insertion) error {
	written, _, err := c.writeJobs(ins)
	c.wakeForNew(written)
	return err
}

// writeJobs writes new jobs. It returns the written jobs, and the jobs that hold the active keys of the others.
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
	if !slices.ContainsFunc(ins, func(in *Insertion) bool { return in.ActiveKey != "" }) { // no conflict is possible
		if err := admitNew(c, ins, rows); err != nil {
			return nil, nil, err
		}
		parts := newjobs.Parts(rows)
		last := len(parts) - 1
		for _, part := range parts[:last] {
			insert, args := newjobs.Insert(c.SQL, part)
			if _, err := c.Tx.Exec(c.Ctx, insert, args...); err != nil {
				return nil, nil, fmt.Errorf("insert jobs: %w", err)
			}
		}
		insert, args := newjobs.Insert(c.SQL, parts[last])
		if err := base.ExecSoon(c.Ctx, c.Tx, insert, args...); err != nil {
			return nil, nil, fmt.Errorf("insert jobs: %w", err)
		}
		return ins, nil, nil
	}
	there := make(map[int64]bool, len(rows))
	for _, part := range newjobs.Parts(rows) {
		insert, args := newjobs.Insert(c.SQL, part)
		ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, insert+`
			on conflict (namespace, active_key) where active_key is not null do nothing
			returning id`, args...)
		if err != nil {
			return nil, nil, fmt.Errorf("insert jobs: %w", err)
		}
		for _, id := range ids {
			there[id] = true
		}
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
	if err := admitWritten(c, written, made); err != nil {
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
		case in.State == job.Waiting && in.Limited: // for a limit: it is admitted when another job ends or the rate allows it
		default:
			c.Wake(base.TopicEngine)
		}
	}
	if len(ins) > 0 {
		c.Wake(base.TopicJobs)
	}
}
