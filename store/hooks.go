package store

import (
	"fmt"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// join connects the packages of the nouns, and defines the order in which they follow an end. Monitors come last, because they
// are locked after schedules.
func (s *Store) join() {
	s.jobStore.Hooks = s.jobHooks()
	s.queueStore.Hooks = queues.Hooks{Limited: func(c *base.Change, q job.Queue, before []flow.Limit) error {
		return s.searchStore.In(c).FollowQueueLimits(q, before)
	}}
	s.taskStore.Hooks = s.taskHooks()
	s.scheduleStore.Hooks = s.scheduleHooks()
	s.cycleStore.Hooks = cycles.Hooks{Tell: func(c *cycles.Change, run cycle.Run, j job.Job, settled job.Settlement) error {
		return s.alertStore.In(c.Change).TellCycle(run, j, settled)
	}}
	s.monitorStore.Hooks = s.monitorHooks()
}

// jobHooks joins jobs with the packages that take part in their transactions.
func (s *Store) jobHooks() jobs.Hooks {
	return jobs.Hooks{
		OneRun: func(c *jobs.Change, ins []*jobs.Insertion) error {
			return s.cycleStore.In(c.Change).OneRun(ins)
		},
		HoldNew: func(c *jobs.Change, ins []*jobs.Insertion) error {
			return s.programStore.In(c.Change).HoldNew(ins)
		},
		CatchUp: func(c *jobs.Change, w job.WorkerState, rows []jobs.JobRow, unlease func([]jobs.JobRow) error) ([]jobs.JobRow, error) {
			return s.leftoverStore.In(c.Change).CatchUp(w, rows, unlease)
		},
		Equip: func(c *jobs.Change, rows []jobs.JobRow, tasks map[int64]task.Task) ([]jobs.JobRow, map[int64]map[string]string, error) {
			return s.programStore.In(c.Change).Equip(rows, tasks)
		},
		Link:         s.Link,
		CheckOutputs: s.WithOutputs,
		Recorded:     s.Recorded,
		KeepDetails: func(c *jobs.Change, fs []job.Finish, out []job.Finished) error {
			return s.programStore.In(c.Change).KeepDetails(fs, out)
		},
		SettleChecks: func(c *jobs.Change, session string, fs []job.Finish) (map[job.Ref]job.State, []job.Finish, error) {
			return s.monitorStore.In(c.Change).SettleChecks(session, fs)
		},
		Gather: func(c *jobs.Change) {
			base.Kept[following](c.Change).gathers = true
			s.monitorStore.In(c.Change).GatherChecks()
		},
		Follow: func(c *jobs.Change) error {
			base.Kept[following](c.Change).gathers = false
			if err := s.follow(c, following{}); err != nil {
				return err
			}
			return s.monitorStore.In(c.Change).JudgeGathered()
		},
		EndWaits: func(c *jobs.Change, fs []job.Finish) error {
			return s.stepStore.In(c.Change).EndWaits(fs)
		},
		StopRuns:  s.stopRuns,
		Ended:     s.jobsEnded,
		Succeeded: s.jobsSucceeded,
	}
}

// stopRuns stops the runs of canceled workflow jobs. It locks cycles before the runs, and those of the others' steps with them.
func (s *Store) stopRuns(c *jobs.Change, rows []jobs.JobRow, others []jobs.Ending, reason core.Reason, note string) error {
	var steps []int64
	for _, e := range others {
		if e.Row.Trigger == job.TriggerStep {
			steps = append(steps, e.Row.ID)
		}
	}
	if err := holdCycles(c, others); err != nil {
		return err
	}
	workflows := s.workflowStore.In(c.Change)
	if err := workflows.HoldRuns(rows, steps); err != nil {
		return err
	}
	return workflows.StopRuns(rows, reason, note, false)
}

// jobsEnded carries out the consequences of ends: alerts and events first, then schedules, cycles and workflows.
func (s *Store) jobsEnded(c *jobs.Change, ends []jobs.Ending, schedules []int64) error {
	if err := s.alertStore.In(c.Change).TellFailed(ends); err != nil {
		return err
	}
	if err := s.hookStore.In(c.Change).JobsEnded(ends); err != nil {
		return err
	}
	return s.follow(c, following{ends: ends, schedules: schedules})
}

// jobsSucceeded is jobsEnded for successes, for which there are no failures to notify.
func (s *Store) jobsSucceeded(c *jobs.Change, done []base.Succeeded, checks []jobs.Ending, members []jobs.MemberEnd, schedules []int64) error {
	if err := s.hookStore.In(c.Change).JobsSucceeded(done); err != nil {
		return err
	}
	if err := s.monitorStore.In(c.Change).JudgeEnds(checks); err != nil {
		return err
	}
	f := following{schedules: schedules}
	for _, m := range members {
		switch m.Trigger {
		case job.TriggerStep:
			f.steps = append(f.steps, m)
		case job.TriggerSpawn:
			f.children = append(f.children, m.JobID)
		case job.TriggerCycle:
			f.members = append(f.members, m)
		}
	}
	return s.follow(c, f)
}

// taskHooks joins tasks with programs, leftovers and limits.
func (s *Store) taskHooks() tasks.Hooks {
	return tasks.Hooks{
		Saving: func(c *tasks.Change, t task.Task) error { return s.programStore.In(c.Change).ReferTask(t) },
		Saved: func(c *tasks.Change, old, t task.Task) error {
			p := s.programStore.In(c.Change)
			if err := p.LeaveForAnother(old, t); err != nil {
				return err
			}
			if leftovers.TaskNeedsOthers(old, t) {
				if err := s.leftoverStore.In(c.Change).Follow(leftovers.Left{Kind: leftovers.Edited, Owner: job.TaskOwner(t.ID)}); err != nil {
					return err
				}
			}
			if err := s.searchStore.In(c.Change).FollowLimits(old, t); err != nil {
				return err
			}
			return p.HoldForAnother(old, t)
		},
		Deleting: func(c *tasks.Change, t task.Task) error {
			return s.leftoverStore.In(c.Change).Follow(leftovers.Left{
				Kind: leftovers.Deleted, Owner: job.TaskOwner(t.ID), Reason: schedule.ReasonDeleted, Note: fmt.Sprintf("task %s deleted", t.Name),
			})
		},
		Deleted: func(c *tasks.Change, t task.Task) error {
			if err := s.searchStore.In(c.Change).FollowLimits(t, task.Task{ID: t.ID}); err != nil {
				return err
			}
			return s.programStore.In(c.Change).ReleaseArtifact(t)
		},
		NamespaceSaved: func(c *tasks.Change, n access.Namespace, before []flow.Limit) error {
			return s.searchStore.In(c.Change).FollowNamespaceLimits(n, before)
		},
	}
}

// scheduleHooks joins schedules and calendars with alerts, event hooks and monitors.
func (s *Store) scheduleHooks() schedules.Hooks {
	return schedules.Hooks{
		Missed: func(c *schedules.Change, sc schedule.Schedule, o schedule.Occurrence) error {
			if err := s.alertStore.In(c.Change).TellMissed(sc, o); err != nil {
				return err
			}
			return s.hookStore.In(c.Change).Missed(sc, o)
		},
		Changed: func(c *schedules.Change, sc schedule.Schedule, event string) error {
			return s.hookStore.In(c.Change).Changed(sc, event)
		},
		CalendarSaved: func(c *schedules.Change, cal schedule.Calendar) error {
			return s.alertStore.In(c.Change).RerouteQuiet(cal)
		},
		CalendarFree: func(c *schedules.Change, cal schedule.Calendar) error {
			if err := s.monitorStore.In(c.Change).FreeOfHeartbeats(cal); err != nil {
				return err
			}
			return s.alertStore.In(c.Change).FreeOfRules(cal)
		},
	}
}

// monitorHooks joins monitors with alerts, event hooks and subscribers.
func (s *Store) monitorHooks() monitors.Hooks {
	return monitors.Hooks{
		Dropped: func(c *monitors.Change, m monitor.Monitor, end monitor.IncidentEnd) error {
			return s.subscriberStore.In(c.Change).Dropped(m, end)
		},
		Tell: func(c *monitors.Change, m monitor.Monitor, notifications []alert.Notification, incident int64) error {
			if err := s.alertStore.In(c.Change).Tell(m, notifications, incident); err != nil {
				return err
			}
			if err := s.hookStore.In(c.Change).MonitorJudged(m, notifications, incident); err != nil {
				return err
			}
			return s.subscriberStore.In(c.Change).Judged(m, notifications, incident)
		},
	}
}

// following holds the ends of jobs that are still to be followed. Each noun is locked after those before it.
type following struct {
	gathers bool // until all ends of the transition are known
	under   bool // in progress: further ends are added to this pass
	stage   int  // progress in the order of locks

	ends     []jobs.Ending
	members  []jobs.MemberEnd // of cycles, that succeeded
	of       []jobs.Ending    // the same ends for workflows
	steps    []jobs.MemberEnd // that succeeded
	by       []jobs.Ending    // the same ends for jobs that wait for others
	children []int64          // that succeeded

	schedules []int64
	checks    []jobs.Ending
}

// follow applies the consequences of ends. Cycles, workflow runs, schedules and monitors are locked in this order, and all of
// one kind together: otherwise two batches could deadlock. A further end that a consequence causes is followed afterwards, and
// takes its locks only if they are free.
func (s *Store) follow(c *jobs.Change, more following) (err error) {
	f := base.Kept[following](c.Change)
	f.ends, f.members, f.steps = append(f.ends, more.ends...), append(f.members, more.members...), append(f.steps, more.steps...)
	f.children, f.schedules = append(f.children, more.children...), append(f.schedules, more.schedules...)
	if f.gathers || f.under {
		return nil
	}
	f.under = true
	defer func() { f.under = false }()
	at := func(place int) { // a further end may need a lock that comes earlier in the order
		if place <= f.stage {
			locks.Backwards(c.Change)
		}
		f.stage = place
	}
	for err == nil {
		switch todo := *f; {
		case len(f.ends)+len(f.members) > 0:
			at(1)
			f.ends, f.members, f.of = nil, nil, append(f.of, f.ends...)
			err = s.cycleStore.In(c.Change).Follow(todo.ends, todo.members)
		case len(f.of)+len(f.steps) > 0:
			at(2)
			f.of, f.steps, f.by = nil, nil, append(f.by, f.of...)
			err = s.workflowStore.In(c.Change).Follow(todo.of, todo.steps)
		case len(f.by)+len(f.children) > 0:
			at(3)
			f.by, f.children, f.checks = nil, nil, append(f.checks, f.by...)
			err = s.stepStore.In(c.Change).Follow(todo.by, todo.children)
		case len(f.schedules) > 0:
			at(4)
			f.schedules = nil
			err = s.scheduleStore.In(c.Change).Follow(base.Unique(todo.schedules))
		case len(f.checks) > 0:
			f.checks = nil
			err = s.monitorStore.In(c.Change).JudgeEnds(todo.checks)
		default:
			return nil
		}
	}
	return err
}

// holdCycles locks cycles for a transition that locks workflow runs first and advances cycles afterwards.
func holdCycles(c *jobs.Change, ends []jobs.Ending) error {
	for _, e := range ends {
		if e.Row.Kind == task.KindCycle || e.Row.Trigger == job.TriggerCycle {
			return locks.Cycles(c.Change)
		}
	}
	return nil
}
