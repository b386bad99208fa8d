package view

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/workflow"
)

// StripQuery asks for the latest results of schedules.
type StripQuery struct {
	Namespace string
	Schedules []string // at most [MaxStrips]
	N         int      // results of each; default: 30; at most 100
}

// MaxStrips is the most schedules of one [StripQuery].
const MaxStrips = 50

// Bound returns how many results of each schedule to return.
func (q StripQuery) Bound() int { return min(max(core.Or(q.N, 30), 1), 100) }

// Validate returns the problems of the query as one error, or nil.
func (q StripQuery) Validate() error {
	var p core.Problems
	if len(q.Schedules) == 0 || len(q.Schedules) > MaxStrips {
		p.Add("schedule", fmt.Sprint(len(q.Schedules)), fmt.Sprintf("are not 1 to %d names", MaxStrips), "")
	}
	if q.N < 0 || q.N > 100 {
		p.Addf("n", q.N, "is outside 1 to 100")
	}
	return p.Err("strips")
}

// Strip is the latest results of a schedule.
type Strip struct {
	Schedule   string         `json:"schedule"`
	ScheduleID int64          `json:"schedule_id"`
	State      schedule.State `json:"state"`
	LastAt     time.Time      `json:"last_at,omitzero" doc:"When its last run ended"`
	NextAt     time.Time      `json:"next_at,omitzero"`
	Results    []StripResult  `json:"results" doc:"Newest first: jobs, and nominal times that were skipped"`
}

// StripResult is one job of a schedule, or one nominal time without a job.
type StripResult struct {
	JobID   int64         `json:"job_id,omitempty" doc:"Empty where no job was made"`
	State   job.State     `json:"state" enum:"waiting,scheduled,ready,running,succeeded,failed,canceled,skipped"`
	Reason  core.Reason   `json:"reason,omitempty"`
	Nominal time.Time     `json:"nominal,omitzero" doc:"Empty for a run beside the plan"`
	At      time.Time     `json:"at" doc:"When it ended, or was decided; of a live job, when it is due"`
	Took    core.Duration `json:"took,omitempty" doc:"From the last claim to the end"`
	Missed  int           `json:"missed,omitempty" doc:"Nominal times that one decision skipped, if several"`
}

// DaysQuery asks for the results of a schedule's runs, day by day.
type DaysQuery struct {
	Namespace string
	Schedule  string
	From      time.Time // default: a year before to
	To        time.Time // default: now
}

// MaxDays is the most days of a [DaysQuery].
const MaxDays = 400

// WithDefaults fills empty fields, and extends the span to whole days.
func (q DaysQuery) WithDefaults(now time.Time) DaysQuery {
	q.Namespace = core.Or(q.Namespace, core.DefaultNamespace)
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(-1, 0, 0)
	}
	q.From, q.To = q.From.UTC().Truncate(24*time.Hour), q.To.UTC()
	return q
}

// Validate returns the problems of a question that has its defaults as one error, or nil.
func (q DaysQuery) Validate() error {
	var p core.Problems
	core.CheckName(&p, "schedule", q.Schedule)
	if d := q.To.Sub(q.From); d < 0 || d > MaxDays*24*time.Hour {
		p.Add("from", q.From.Format(time.DateOnly), fmt.Sprintf("is not up to %d days before to", MaxDays), "")
	}
	return p.Err("days")
}

// DayTotals counts the results of one day.
//
// Runs of a schedule count on a day in its time zone: that of the nominal time, or,
// for a run outside the plan, that of its end. A decision about several nominal
// times counts on the day of the first. An edit of the zone does not move
// rolled-up runs. Jobs of a task count on the day in UTC on which they ended.
type DayTotals struct {
	Day      time.Time     `json:"day" doc:"The date as midnight UTC: for a schedule that in its zone, for a task that in UTC"`
	OK       int64         `json:"ok"`
	Failed   int64         `json:"failed"`
	Canceled int64         `json:"canceled"`
	Skipped  int64         `json:"skipped" doc:"Nominal times without a run too"`
	Ran      core.Duration `json:"ran" doc:"From claim to end, added up"`
}

// Tally counts n jobs with that final state and total run time.
func (d *DayTotals) Tally(state job.State, n int64, ran core.Duration) {
	switch state {
	case job.Succeeded:
		d.OK += n
	case job.Failed:
		d.Failed += n
	case job.Canceled:
		d.Canceled += n
	default:
		d.Skipped += n
	}
	d.Ran += ran
}

// ScheduleDays is the answer to a [DaysQuery].
type ScheduleDays struct {
	Days    []DayTotals `json:"days" doc:"Oldest first; days on which nothing ended are left out. A job that is retried by hand after it was counted counts again when it ends again"`
	Partial bool        `json:"partial,omitempty" doc:"More has ended since the last roll-up than is counted at once"`
}

// TaskDaysQuery asks for the results of jobs of tasks, day by day.
type TaskDaysQuery struct {
	Namespace string
	Tasks     []string  // at most [MaxStrips]
	From      time.Time // default: 13 days before to
	To        time.Time // default: now
}

// WithDefaults fills empty fields, and extends the span to whole days.
func (q TaskDaysQuery) WithDefaults(now time.Time) TaskDaysQuery {
	q.Namespace = core.Or(q.Namespace, core.DefaultNamespace)
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -13)
	}
	q.From, q.To = q.From.UTC().Truncate(24*time.Hour), q.To.UTC().Truncate(24*time.Hour)
	return q
}

// Validate returns the problems of a question that has its defaults as one error, or nil.
func (q TaskDaysQuery) Validate() error {
	var p core.Problems
	if len(q.Tasks) == 0 || len(q.Tasks) > MaxStrips {
		p.Add("task", fmt.Sprint(len(q.Tasks)), fmt.Sprintf("are not 1 to %d names", MaxStrips), "")
	}
	if d := q.To.Sub(q.From); d < 0 || d > MaxDays*24*time.Hour {
		p.Add("from", q.From.Format(time.DateOnly), fmt.Sprintf("is not up to %d days before to", MaxDays), "")
	}
	return p.Err("days of tasks")
}

// TaskDays is the results of a task's jobs.
type TaskDays struct {
	Namespace string      `json:"namespace"`
	Task      string      `json:"task"`
	Days      []DayTotals `json:"days" doc:"Oldest first; days on which nothing ended are left out"`
}

// TaskDaysFound is the answer to a [TaskDaysQuery].
type TaskDaysFound struct {
	Items []TaskDays `json:"items" doc:"By namespace and name; names that are no task are left out"`
	Until time.Time  `json:"until,omitzero" doc:"What ended by then is counted: some minutes ago. A job that is retried by hand later counts again when it ends again"`
}

// Overview is the state of the whole system on one page.
type Overview struct {
	Now        time.Time          `json:"now"`
	QuietUntil time.Time          `json:"quiet_until,omitzero" doc:"The clock was set back: planned times of schedules and checks of monitors are quiet until it shows this time; absent: none are"`
	Running    []job.RunningJob   `json:"running" doc:"Those that run longest, of the oldest 1000"`
	Runs       core.Counted       `json:"runs" doc:"How many run"`
	Failed     []job.FailedJob    `json:"failed" doc:"Failed within 24 hours, newest first"`
	Failures   int64              `json:"failures" doc:"How many failed within 24 hours; in a minute in which more than 10,000 jobs end, up to the minute before"`
	Queues     []job.QueueLoad    `json:"queues" doc:"Those that fall behind first, then by name; at most 100"`
	Minutes    []job.MinuteTotals `json:"minutes" doc:"What ended in each minute of the last hour, oldest first; empty minutes are left out"`

	Day     []job.MinuteTotals `json:"day" doc:"What ended in each half hour of the last 24 hours, oldest first; empty ones are left out"`
	Failing []Failing          `json:"failing" doc:"Tasks whose jobs failed within 24 hours and have not succeeded since, the latest failure first, of the newest 1000 failed jobs of the namespace; checks of monitors are left out; at most 20"`
	Late    []Next             `json:"late" doc:"Schedules that are overdue for more than 10 s, the most overdue first; at most 20"`
	Lost    []LostWorker       `json:"lost" doc:"Workers that were lost within an hour, and of whose name none is there again; at most 20"`
	Starts  []Starts           `json:"starts" doc:"What ahead counts, by quarters of an hour; empty ones are left out"`

	Approvals     []workflow.Asked `json:"approvals" doc:"Runs of workflows that wait for an approval, those that wait longest first; at most 20"`
	MoreApprovals bool             `json:"more_approvals,omitempty" doc:"More runs wait for an approval"`

	ScheduleLag core.Duration      `json:"schedule_lag" doc:"How long the most overdue schedule waits to be fired"`
	Next        []Next             `json:"next" doc:"Schedules that are due next"`
	Ahead       schedule.Forecast  `json:"ahead" doc:"What starts in the next 24 hours but for checks of monitors, by hour in UTC"`
	Incidents   []monitor.Incident `json:"incidents" doc:"Outages that are not over, those outside of maintenance first, then newest first; at most 20"`
	Workers     []job.WorkerState  `json:"workers" doc:"Living sessions, newest first; at most 100"`

	MoreFailing   bool `json:"more_failing,omitempty" doc:"More tasks are failing, or may be"`
	MoreIncidents bool `json:"more_incidents,omitempty" doc:"More outages outside of maintenance are not over, or may not be"`
	MoreLate      bool `json:"more_late,omitempty" doc:"More schedules are late"`
	MoreLost      bool `json:"more_lost,omitempty" doc:"More workers were lost"`
}

// DayStep is the length of a part of [Overview].Day, in minutes.
const DayStep = 30

// Failing is a task with failing jobs.
type Failing struct {
	Namespace string    `json:"namespace"`
	Task      string    `json:"task"`
	Schedule  string    `json:"schedule,omitempty" doc:"Of the latest of them"`
	Jobs      int       `json:"jobs" doc:"How many failed"`
	First     time.Time `json:"first" doc:"When the first of them failed"`
	Last      time.Time `json:"last"`
	JobID     int64     `json:"job_id" doc:"The latest"`
	Error     string    `json:"error" doc:"What it said"`
}

// LostWorker is a worker that did not renew its session.
type LostWorker struct {
	Session string    `json:"session"`
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
}

// Starts is the number of planned runs within 15 minutes.
type Starts struct {
	At     time.Time `json:"at" doc:"Its begin"`
	Starts int       `json:"starts"`
}

// BehindAfter is the wait of the first job from which a queue counts as falling
// behind.
const BehindAfter = time.Minute

// Next is a schedule with its next run.
type Next struct {
	Namespace string    `json:"namespace"`
	Schedule  string    `json:"schedule"`
	Zone      string    `json:"zone,omitempty" doc:"Of the schedule; left out of what is late"`
	NextAt    time.Time `json:"next_at"`
}

// LiveResult reports whether the result is a job that has not ended.
func (r StripResult) LiveResult() bool { return !r.State.Final() }
