package store

import (
	"context"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// jobHooks are what other rooms do within the transitions of jobs, which do not know them.
type jobHooks struct {
	// OneRun refuses new jobs of cycles that have a run.
	OneRun func(c *change, ins []*insertion) error
	// HoldNew makes new jobs wait that cannot run yet.
	HoldNew func(c *change, ins []*insertion) error
	// Equip gives leased jobs what they start with, by job, and leaves out those that cannot start.
	Equip func(c *change, rows []jobRow, tasks map[int64]task.Task) ([]jobRow, map[int64]map[string]string, error)
	// Link adds to leased jobs, after the commit, where their bytes are.
	Link func(ctx context.Context, jobs []job.LeasedJob)
	// CheckOutputs looks, before the transition, whether the files are there that reports name.
	CheckOutputs func(ctx context.Context, fs []job.Finish) []job.Finish
	// ConfirmOutputs keeps them with the attempt that has ended.
	ConfirmOutputs func(c *change, f job.Finish) error
	// SettleChecks settles attempts that bring what they saw of a monitor's target; plain are those that are no checks.
	SettleChecks func(c *change, session string, fs []job.Finish) (states map[job.Ref]job.State, plain []job.Finish, err error)
	// GatherChecks puts off what checks mean for their monitors until JudgeChecks: monitors are locked last.
	GatherChecks func(c *change)
	JudgeChecks  func(c *change) error
	// Ended does what follows from ends of attempts, and of jobs of schedules.
	Ended func(c *change, ends []ending, schedules []int64) error
	// Succeeded is Ended where all went well, with the checks and the members of cycles among them.
	Succeeded func(c *change, checks []ending, members []memberEnd, schedules []int64) error
}

// taskHooks are what other rooms do when a task is saved or deleted.
type taskHooks struct {
	Saving   func(c *change, t task.Task) error
	Saved    func(c *change, old, t task.Task, demand int64) error // of an edit
	Deleting func(c *change, t task.Task) error
	Deleted  func(c *change, t task.Task) error
}

// scheduleHooks are what other rooms do within the transitions of schedules and calendars.
type scheduleHooks struct {
	// Missed tells people of a nominal time that will never run, if they want to know.
	Missed func(c *change, s schedule.Schedule, o schedule.Occurrence) error
	// CalendarSaved has looked at again what waits for a calendar.
	CalendarSaved func(c *change, cal schedule.Calendar) error
	// CalendarFree refuses to delete a calendar that is named by what has no schedule.
	CalendarFree func(c *change, cal schedule.Calendar) error
}

// cycleHooks are what other rooms do within the transitions of cycles.
type cycleHooks struct {
	// Tell tells people of a cycle that has ended.
	Tell func(c *change, run cycle.Run, j job.Job, s job.Settlement) error
}

// monitorHooks are what other rooms do within the transitions of monitors.
type monitorHooks struct {
	// Tell tells people of a monitor.
	Tell func(c *change, m monitor.Monitor, notices []alert.Notice, incident int64) error
}

// join plugs the rooms into each other, and says in which order they follow an end: monitors come last, because they are
// locked behind schedules.
func (s *Store) join() {
	s.jobHooks = jobHooks{
		OneRun:         (*change).oneRun,
		HoldNew:        (*change).holdNew,
		Equip:          (*change).equip,
		Link:           s.link,
		CheckOutputs:   s.withOutputs,
		ConfirmOutputs: (*change).confirmOutputs,
		SettleChecks:   (*change).settleChecks,
		GatherChecks:   (*change).gatherChecks,
		JudgeChecks:    (*change).judgeGathered,
		Ended: func(c *change, ends []ending, schedules []int64) error {
			if err := c.tellFailed(ends); err != nil {
				return err
			}
			if err := c.followCycles(ends); err != nil {
				return err
			}
			if err := c.follow(schedules); err != nil {
				return err
			}
			return c.judgeEnds(ends)
		},
		Succeeded: func(c *change, checks []ending, members []memberEnd, schedules []int64) error {
			if err := c.judgeEnds(checks); err != nil {
				return err
			}
			if err := c.membersEnded(members); err != nil {
				return err
			}
			return c.follow(schedules)
		},
	}
	s.taskHooks = taskHooks{
		Saving: (*change).referTask,
		Saved: func(c *change, old, t task.Task, demand int64) error {
			if err := c.leaveForAnother(old, t); err != nil {
				return err
			}
			if err := c.followTask(old, t, demand); err != nil {
				return err
			}
			return c.holdForAnother(old, t)
		},
		Deleting: (*change).withdrawTask,
		Deleted:  (*change).letGo,
	}
	s.scheduleHooks = scheduleHooks{
		Missed:        (*change).tellMissed,
		CalendarSaved: (*change).rerouteQuiet,
		CalendarFree: func(c *change, cal schedule.Calendar) error {
			if err := c.freeOfHeartbeats(cal); err != nil {
				return err
			}
			return c.freeOfRules(cal)
		},
	}
	s.cycleHooks = cycleHooks{Tell: (*change).tellCycle}
	s.monitorHooks = monitorHooks{Tell: (*change).tell}
}
