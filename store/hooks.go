package store

import (
	"fmt"
	"slices"

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
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// join plugs the nouns into each other, and says in which order they follow an end: monitors come last, because they are
// locked behind schedules.
func (s *Store) join() {
	s.jobStore.Hooks = jobs.Hooks{
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
		GatherChecks: func(c *jobs.Change) { s.monitorStore.In(c.Change).GatherChecks() },
		JudgeChecks:  func(c *jobs.Change) error { return s.monitorStore.In(c.Change).JudgeGathered() },
		EndWaits: func(c *jobs.Change, fs []job.Finish) error {
			return s.stepStore.In(c.Change).EndWaits(fs)
		},
		StopRuns: func(c *jobs.Change, rows []jobs.JobRow, others []jobs.Ending, reason core.Reason, note string) error {
			var steps []int64
			for _, e := range others {
				if e.Row.Trigger == job.TriggerStep {
					steps = append(steps, e.Row.ID)
				}
			}
			workflows := s.workflowStore.In(c.Change)
			if err := workflows.HoldRuns(rows, steps); err != nil {
				return err
			}
			return workflows.StopRuns(rows, reason, note, false)
		},
		Ended: func(c *jobs.Change, ends []jobs.Ending, schedules []int64) error {
			if err := s.alertStore.In(c.Change).TellFailed(ends); err != nil {
				return err
			}
			if err := s.hookStore.In(c.Change).JobsEnded(ends); err != nil {
				return err
			}
			if err := s.cycleStore.In(c.Change).FollowCycles(ends); err != nil {
				return err
			}
			if err := s.workflowStore.In(c.Change).FollowWorkflows(ends); err != nil {
				return err
			}
			if err := s.stepStore.In(c.Change).FollowChildren(ends); err != nil {
				return err
			}
			if err := s.scheduleStore.In(c.Change).Follow(schedules); err != nil {
				return err
			}
			return s.monitorStore.In(c.Change).JudgeEnds(ends)
		},
		Succeeded: func(c *jobs.Change, done []base.Succeeded, checks []jobs.Ending, members []jobs.MemberEnd, schedules []int64) error {
			if err := s.hookStore.In(c.Change).JobsSucceeded(done); err != nil {
				return err
			}
			if err := s.monitorStore.In(c.Change).JudgeEnds(checks); err != nil {
				return err
			}
			var steps []jobs.MemberEnd
			var children []int64
			members = slices.DeleteFunc(members, func(m jobs.MemberEnd) bool {
				switch m.Trigger {
				case job.TriggerStep:
					steps = append(steps, m)
				case job.TriggerSpawn:
					children = append(children, m.JobID)
				}
				return m.Trigger != job.TriggerCycle
			})
			if err := s.cycleStore.In(c.Change).MembersEnded(members); err != nil {
				return err
			}
			if err := s.workflowStore.In(c.Change).StepsEnded(steps); err != nil {
				return err
			}
			if err := s.stepStore.In(c.Change).ChildrenEnded(children); err != nil {
				return err
			}
			return s.scheduleStore.In(c.Change).Follow(schedules)
		},
	}
	s.queueStore.Hooks = queues.Hooks{Limited: func(c *base.Change, q job.Queue, before []flow.Limit) error {
		return s.searchStore.In(c).FollowQueueLimits(q, before)
	}}
	s.taskStore.Hooks = tasks.Hooks{
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
			return s.programStore.In(c.Change).LetGo(t)
		},
		NamespaceSaved: func(c *tasks.Change, n access.Namespace, before []flow.Limit) error {
			return s.searchStore.In(c.Change).FollowNamespaceLimits(n, before)
		},
	}
	s.scheduleStore.Hooks = schedules.Hooks{
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
	s.cycleStore.Hooks = cycles.Hooks{Tell: func(c *cycles.Change, run cycle.Run, j job.Job, settled job.Settlement) error {
		return s.alertStore.In(c.Change).TellCycle(run, j, settled)
	}}
	s.monitorStore.Hooks = monitors.Hooks{Dropped: func(c *monitors.Change, m monitor.Monitor, end monitor.IncidentEnd) error {
		return s.subscriberStore.In(c.Change).Dropped(m, end)
	}, Tell: func(c *monitors.Change, m monitor.Monitor, notifications []alert.Notification, incident int64) error {
		if err := s.alertStore.In(c.Change).Tell(m, notifications, incident); err != nil {
			return err
		}
		if err := s.hookStore.In(c.Change).MonitorJudged(m, notifications, incident); err != nil {
			return err
		}
		return s.subscriberStore.In(c.Change).Judged(m, notifications, incident)
	}}
}
