// Package jobs keeps the jobs: enqueue, claim and settle.
package jobs

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/bounds"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/marks"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/task"
)

// Store keeps the jobs: enqueue, claim and settle.
type Store struct {
	*base.Store
	bounds *bounds.Store
	queues *queues.Store
	turns  *turns.Store
	tasks  *tasks.Store
	limits *limits.Store

	Hooks Hooks

	path         path
	Marks        *marks.Marks
	gather       gather.Calls
	lanes        marks.Lanes
	pendingWakes marks.PendingWakes

	lastQueue    sync.Map // queue by task: the queue of its last jobs, where a claim may wait for the next
	lastTask     sync.Map // task by queue: the task of the last claimed job, and perhaps of the next
	queuesRead   base.Known[string, claimable]
	sessionsRead base.Known[string, job.WorkerState]
	sessionDocs  base.Docs[string, job.WorkerInfo]
}

// New returns the part of a store that keeps jobs.
func New(b *base.Store, queues *queues.Store, bounds *bounds.Store, turns *turns.Store, tasks *tasks.Store, l *limits.Store) *Store {
	s := &Store{Store: b, queues: queues, bounds: bounds, turns: turns, tasks: tasks, limits: l, path: fast{}, Marks: marks.New(b.Opt.Claims.NoMark), gather: gather.New(b.Far)}
	if b.Opt.Claims.Plain {
		s.path = plain{}
	}
	l.Skip = func(c *base.Change, ids []int64, note string) error {
		return s.In(c).WithdrawJobs(ids, limits.ReasonSequence, note)
	}
	bounds.Drop = func(c *base.Change, ids []int64, note string) error {
		return s.In(c).WithdrawJobs(ids, job.ReasonDropped, note)
	}
	s.OnClose(s.Marks.Close)
	s.OnClockSet(s.Marks.Drain)
	return s
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s       *Store
	trigger schedule.Trigger // of new jobs; empty: enqueue
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{Change: c, s: s} }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

// Limits is the part of the store that admits jobs under limits.
func (s *Store) Limits() *limits.Store { return s.limits }

// Turns is the part of the store that keeps the turns of fair queues.
func (s *Store) Turns() *turns.Store { return s.turns }

func turnsOf(c *Change) *turns.Change { return c.s.turns.In(c.Change) }

func limitsOf(c *Change) *limits.Change { return c.s.limits.In(c.Change) }

// admit makes new jobs wait for which a limit has no capacity.
func admit(c *Change, ins []*Insertion) error {
	return limitsOf(c).AdmitNew(len(ins), func(i int) (*job.Job, []job.Gate, *bool) { return &ins[i].Job, ins[i].gates, &ins[i].Limited })
}

func (s *Store) writeAhead(ctx context.Context, name string, ahead func(c *Change), fn func(c *Change) error) error {
	return s.WriteAhead(ctx, name, func(c *base.Change) { ahead(s.In(c)) }, func(c *base.Change) error { return fn(s.In(c)) })
}

// ForgetMarks drops all marks, so that claims look everywhere again.
func (s *Store) ForgetMarks() { s.Marks.Drain() }

func (s *Store) begin(ctx context.Context) *Change { return s.In(s.Begin(ctx)) }

// Hooks are functions of other packages that run within the transitions of jobs. This package does not import them.
type Hooks struct {
	// OneRun refuses new jobs of cycles that already have a run.
	OneRun func(c *Change, ins []*Insertion) error
	// HoldNew makes new jobs wait if they cannot run yet.
	HoldNew func(c *Change, ins []*Insertion) error
	// CatchUp applies pending changes of definitions to jobs that a session has just leased. It gives back the leases of such
	// jobs by unlease, and returns the other jobs.
	CatchUp func(c *Change, w job.WorkerState, rows []JobRow, unlease func([]JobRow) error) ([]JobRow, error)
	// Equip returns the secrets with which leased jobs start, by job, and leaves out jobs that cannot start.
	Equip func(c *Change, rows []JobRow, tasks map[int64]task.Task) ([]JobRow, map[int64]map[string]string, error)
	// Link adds the addresses of their artifacts to leased jobs, after the commit.
	Link func(ctx context.Context, jobs []job.LeasedJob)
	// CheckOutputs checks before the transition that the files exist that finishes name.
	CheckOutputs func(ctx context.Context, fs []job.Finish) []job.Finish
	// Recorded finds, after the transition, stale finishes that repeat a finish which was recorded before.
	Recorded func(ctx context.Context, session string, fs []job.Finish, out []job.Finished) error
	// KeepDetails writes the details that ended attempts report beyond their outcome.
	KeepDetails func(c *Change, fs []job.Finish, out []job.Finished) error
	// SettleChecks settles attempts with a check result; plain are the attempts that turned out to be no checks.
	SettleChecks func(c *Change, session string, fs []job.Finish) (states map[job.Ref]job.State, plain []job.Finish, err error)
	// Gather defers the consequences of ends until Follow, which locks the rows of all of them in one order.
	Gather func(c *Change)
	Follow func(c *Change) error
	// EndWaits handles attempts that end in order to wait for a step: if the wait is over already, the job is not delayed.
	EndWaits func(c *Change, fs []job.Finish) error
	// StopRuns stops the runs of canceled workflow jobs (rows), which end later. The others, perhaps steps, end at once.
	StopRuns func(c *Change, rows []JobRow, others []Ending, reason core.Reason, note string) error
	// Ended carries out the consequences of ends of attempts, and of jobs of schedules.
	Ended func(c *Change, ends []Ending, schedules []int64) error
	// Succeeded is Ended for successes: done has all of them, including the checks and the members of cycles.
	Succeeded func(c *Change, done []base.Succeeded, checks []Ending, members []MemberEnd, schedules []int64) error
}

// MemberEnd is the final end of the job of a cycle member, or of a step of a workflow or of a job.
type MemberEnd struct {
	JobID, TaskID int64
	State         job.State
	Attempts      int
	ClaimedAt     time.Time
	Error         string
	Trigger       schedule.Trigger
	Output        json.RawMessage // of steps
}
