package store

import (
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/monitors"
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
		Equip: func(c *jobs.Change, rows []jobs.JobRow, tasks map[int64]task.Task) ([]jobs.JobRow, map[int64]map[string]string, error) {
			return s.programStore.In(c.Change).Equip(rows, tasks)
		},
		Link:         s.Link,
		CheckOutputs: s.WithOutputs,
		Recorded:     s.Recorded,
		ConfirmOutputs: func(c *jobs.Change, f job.Finish) error {
			return s.programStore.In(c.Change).ConfirmOutputs(f)
		},
		SettleChecks: func(c *jobs.Change, session string, fs []job.Finish) (map[job.Ref]job.State, []job.Finish, error) {
			return s.monitorStore.In(c.Change).SettleChecks(session, fs)
		},
		GatherChecks: func(c *jobs.Change) { s.monitorStore.In(c.Change).GatherChecks() },
		JudgeChecks:  func(c *jobs.Change) error { return s.monitorStore.In(c.Change).JudgeGathered() },
		Ended: func(c *jobs.Change, ends []jobs.Ending, schedules []int64) error {
			if err := s.alertStore.In(c.Change).TellFailed(ends); err != nil {
				return err
			}
			if err := s.cycleStore.In(c.Change).FollowCycles(ends); err != nil {
				return err
			}
			if err := s.scheduleStore.In(c.Change).Follow(schedules); err != nil {
				return err
			}
			return s.monitorStore.In(c.Change).JudgeEnds(ends)
		},
		Succeeded: func(c *jobs.Change, checks []jobs.Ending, members []jobs.MemberEnd, schedules []int64) error {
			if err := s.monitorStore.In(c.Change).JudgeEnds(checks); err != nil {
				return err
			}
			if err := s.cycleStore.In(c.Change).MembersEnded(members); err != nil {
				return err
			}
			return s.scheduleStore.In(c.Change).Follow(schedules)
		},
	}
	s.taskStore.Hooks = tasks.Hooks{
		Saving: func(c *tasks.Change, t task.Task) error { return s.programStore.In(c.Change).ReferTask(t) },
		Saved: func(c *tasks.Change, old, t task.Task, requirement int64) error {
			p := s.programStore.In(c.Change)
			if err := p.LeaveForAnother(old, t); err != nil {
				return err
			}
			if err := s.jobStore.In(c.Change).FollowTask(old, t, requirement); err != nil {
				return err
			}
			return p.HoldForAnother(old, t)
		},
		Deleting: func(c *tasks.Change, t task.Task) error { return s.jobStore.In(c.Change).WithdrawTask(t) },
		Deleted:  func(c *tasks.Change, t task.Task) error { return s.programStore.In(c.Change).LetGo(t) },
	}
	s.scheduleStore.Hooks = schedules.Hooks{
		Missed: func(c *schedules.Change, sc schedule.Schedule, o schedule.Occurrence) error {
			return s.alertStore.In(c.Change).TellMissed(sc, o)
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
	s.monitorStore.Hooks = monitors.Hooks{Tell: func(c *monitors.Change, m monitor.Monitor, notifications []alert.Notification, incident int64) error {
		return s.alertStore.In(c.Change).Tell(m, notifications, incident)
	}}
}
