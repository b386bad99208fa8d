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

	path   path
	water  *marks.Marks
	gather gather.Calls
	lanes  marks.Lanes
	owed   marks.Owed

	went         sync.Map // queue by task: where its last jobs went, and who may wait for the next
	usual        sync.Map // task by queue: of which a claim was, and the next may be
	queuesRead   base.Known[string, claimable]
	sessionsRead base.Known[string, job.WorkerState]
	sessionDocs  base.Docs[string, job.WorkerInfo]
}

// New is the part of a store that keeps them.
func New(b *base.Store, queues *queues.Store, bounds *bounds.Store, turns *turns.Store, tasks *tasks.Store, l *limits.Store) *Store {
	s := &Store{Store: b, queues: queues, bounds: bounds, turns: turns, tasks: tasks, limits: l, path: fast{}, water: marks.New(b.Opt.Claims.NoMark), gather: gather.New(b.Far)}
	if b.Opt.Claims.Plain {
		s.path = plain{}
	}
	l.Skip = func(c *base.Change, ids []int64, note string) error {
		return s.In(c).WithdrawJobs(ids, limits.ReasonSequence, note)
	}
	bounds.Drop = func(c *base.Change, ids []int64, note string) error {
		return s.In(c).WithdrawJobs(ids, job.ReasonDropped, note)
	}
	s.OnClose(s.water.Close)
	s.OnClockSet(s.water.Drain)
	return s
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s       *Store
	trigger schedule.Trigger // of new jobs, if it is another than usual
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{Change: c, s: s} }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) writeAhead(ctx context.Context, name string, ahead func(c *Change), fn func(c *Change) error) error {
	return s.WriteAhead(ctx, name, func(c *base.Change) { ahead(s.In(c)) }, func(c *base.Change) error { return fn(s.In(c)) })
}

// ForgetMarks has claims look again at jobs that they have passed over.
func (s *Store) ForgetMarks() { s.water.Drain() }

func (s *Store) begin(ctx context.Context) *Change { return s.In(s.Begin(ctx)) }

// Hooks are what other rooms do within the transitions of jobs, which do not know them.
type Hooks struct {
	// OneRun refuses new jobs of cycles that have a run.
	OneRun func(c *Change, ins []*Insertion) error
	// HoldNew makes new jobs wait that cannot run yet.
	HoldNew func(c *Change, ins []*Insertion) error
	// CatchUp brings jobs in line that a session has just leased and that do not follow a change of their definition yet. It
	// gives back their leases by unlease, and answers the others.
	CatchUp func(c *Change, w job.WorkerState, rows []JobRow, unlease func([]JobRow) error) ([]JobRow, error)
	// Equip gives leased jobs what they start with, by job, and leaves out those that cannot start.
	Equip func(c *Change, rows []JobRow, tasks map[int64]task.Task) ([]JobRow, map[int64]map[string]string, error)
	// Link adds to leased jobs, after the commit, where their bytes are.
	Link func(ctx context.Context, jobs []job.LeasedJob)
	// CheckOutputs looks, before the transition, whether the files are there that reports name.
	CheckOutputs func(ctx context.Context, fs []job.Finish) []job.Finish
	// Recorded finds stale answers to a session's finishes that it had made before, after the transition.
	Recorded func(ctx context.Context, session string, fs []job.Finish, out []job.Finished) error
	// KeepDetails writes down what attempts that have just ended say of themselves beyond their ends.
	KeepDetails func(c *Change, fs []job.Finish, out []job.Finished) error
	// SettleChecks settles attempts that bring what they saw of a monitor's target; plain are those that are no checks.
	SettleChecks func(c *Change, session string, fs []job.Finish) (states map[job.Ref]job.State, plain []job.Finish, err error)
	// Gather puts off what follows from ends until Follow: what it locks is locked in one order, of all of them together.
	Gather func(c *Change)
	Follow func(c *Change) error
	// EndWaits has attempts that end to wait for a step not put off their jobs if the wait is over already.
	EndWaits func(c *Change, fs []job.Finish) error
	// StopRuns stops the runs of workflows whose jobs are to be canceled, which end later. Others, maybe steps, end at once.
	StopRuns func(c *Change, rows []JobRow, others []Ending, reason core.Reason, note string) error
	// Ended does what follows from ends of attempts, and of jobs of schedules.
	Ended func(c *Change, ends []Ending, schedules []int64) error
	// Succeeded is Ended where all went well: done are all of them, with the checks and the members of cycles among them.
	Succeeded func(c *Change, done []base.Succeeded, checks []Ending, members []MemberEnd, schedules []int64) error
}

// MemberEnd is a job of a member of a cycle, or of a step of a workflow or of a job, that has ended for good.
type MemberEnd struct {
	JobID, TaskID int64
	State         job.State
	Attempts      int
	ClaimedAt     time.Time
	Error         string
	Trigger       schedule.Trigger
	Output        json.RawMessage // of steps
}
