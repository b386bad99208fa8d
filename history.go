package belfry

import (
	"fmt"
	"time"
)

// StripQuery asks for the last results of schedules.
type StripQuery struct {
	Namespace string
	Schedules []string // at most [MaxStrips]
	N         int      // results of each; default: 30; at most 100
}

// MaxStrips bounds the schedules of one [StripQuery].
const MaxStrips = 50

// Bound is how many results of each schedule to answer.
func (q StripQuery) Bound() int { return min(max(or(q.N, 30), 1), 100) }

// Validate says what is wrong with the question.
func (q StripQuery) Validate() error {
	var p problems
	if len(q.Schedules) == 0 || len(q.Schedules) > MaxStrips {
		p.add("schedule", fmt.Sprint(len(q.Schedules)), fmt.Sprintf("are not 1 to %d names", MaxStrips), "")
	}
	if q.N < 0 || q.N > 100 {
		p.addf("n", q.N, "is outside 1 to 100")
	}
	return p.err("strips")
}

// Strip is how a schedule went lately.
type Strip struct {
	Schedule   string        `json:"schedule"`
	ScheduleID int64         `json:"schedule_id"`
	State      ScheduleState `json:"state"`
	LastAt     time.Time     `json:"last_at,omitzero" doc:"When its last run ended"`
	NextAt     time.Time     `json:"next_at,omitzero"`
	Results    []StripResult `json:"results" doc:"Newest first: jobs, and nominal times that were skipped"`
}

// StripResult is one job of a schedule, or one nominal time that became none.
type StripResult struct {
	JobID   int64     `json:"job_id,omitempty" doc:"Empty where no job was made"`
	State   JobState  `json:"state" enum:"waiting,scheduled,ready,running,succeeded,failed,canceled,skipped"`
	Reason  Reason    `json:"reason,omitempty"`
	Nominal time.Time `json:"nominal,omitzero" doc:"Empty for a run beside the plan"`
	At      time.Time `json:"at" doc:"When it ended, or was decided; of a live job, when it is due"`
	Took    Duration  `json:"took,omitempty" doc:"From the last claim to the end"`
	Missed  int       `json:"missed,omitempty" doc:"Nominal times that one decision skipped, if several"`
}

// DaysQuery asks what became of a schedule's runs, day by day.
type DaysQuery struct {
	Namespace string
	Schedule  string
	From      time.Time // default: a year before to
	To        time.Time // default: now
}

// MaxDays bounds a [DaysQuery].
const MaxDays = 400

// WithDefaults fills what was left out, and makes whole days of it.
func (q DaysQuery) WithDefaults(now time.Time) DaysQuery {
	q.Namespace = or(q.Namespace, DefaultNamespace)
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(-1, 0, 0)
	}
	q.From, q.To = q.From.UTC().Truncate(24*time.Hour), q.To.UTC()
	return q
}

// Validate says what is wrong with a question that has its defaults.
func (q DaysQuery) Validate() error {
	var p problems
	checkName(&p, "schedule", q.Schedule)
	if d := q.To.Sub(q.From); d < 0 || d > MaxDays*24*time.Hour {
		p.add("from", q.From.Format(time.DateOnly), fmt.Sprintf("is not up to %d days before to", MaxDays), "")
	}
	return p.err("days")
}

// ScheduleDay is what became of a schedule's runs on one day of its zone: that of
// the nominal time, and for a run beside the plan that of its end. One decision
// about several nominal times counts on the day of the first. What was rolled up
// stays where it is when the zone is edited.
type ScheduleDay struct {
	Day      time.Time `json:"day" doc:"The date in the zone of the schedule, as midnight UTC"`
	OK       int64     `json:"ok"`
	Failed   int64     `json:"failed"`
	Canceled int64     `json:"canceled"`
	Skipped  int64     `json:"skipped" doc:"Nominal times without a run too"`
	Ran      Duration  `json:"ran" doc:"From claim to end, added up"`
}

// Tally counts an end.
func (d *ScheduleDay) Tally(state JobState, n int64, ran Duration) {
	switch state {
	case JobSucceeded:
		d.OK += n
	case JobFailed:
		d.Failed += n
	case JobCanceled:
		d.Canceled += n
	default:
		d.Skipped += n
	}
	d.Ran += ran
}

// ScheduleDays is the answer to a [DaysQuery].
type ScheduleDays struct {
	Days    []ScheduleDay `json:"days" doc:"Oldest first; days on which nothing ended are left out"`
	Partial bool          `json:"partial,omitempty" doc:"More has ended since the last roll-up than is counted at once"`
}

// JobMinute is what ended within one minute.
type JobMinute struct {
	Minute   time.Time `json:"minute"`
	OK       int64     `json:"ok"`
	Failed   int64     `json:"failed"`
	Canceled int64     `json:"canceled"`
	Skipped  int64     `json:"skipped"`
	Ran      Duration  `json:"ran" doc:"From claim to end, added up"`
	Started  int64     `json:"started" doc:"Those of them that were claimed"`
	Lag      Duration  `json:"lag" doc:"From due to claim, added up over those"`
	LagMost  Duration  `json:"lag_most" doc:"The longest of them"`
}

// Add puts another one to it.
func (m *JobMinute) Add(o JobMinute) {
	m.OK += o.OK
	m.Failed += o.Failed
	m.Canceled += o.Canceled
	m.Skipped += o.Skipped
	m.Ran += o.Ran
	m.Started += o.Started
	m.Lag += o.Lag
	m.LagMost = max(m.LagMost, o.LagMost)
}

// MinuteQuery asks for rates of finished jobs.
type MinuteQuery struct {
	Namespace string // * for all
	Queue     string
	Within    time.Duration // the last; default: 1h; at most 48h
}

// Overview is the state of things on one page.
type Overview struct {
	Now      time.Time    `json:"now"`
	Running  []RunningJob `json:"running" doc:"Those that run longest, of the oldest 1000"`
	Runs     Counted      `json:"runs" doc:"How many run"`
	Failed   []FailedJob  `json:"failed" doc:"Failed within 24 hours, newest first"`
	Failures int64        `json:"failures" doc:"How many failed within 24 hours, up to the last complete minute"`
	Queues   []QueueLoad  `json:"queues" doc:"Those that fall behind first, then by name; at most 100"`
	Minutes  []JobMinute  `json:"minutes" doc:"What ended in each minute of the last hour, oldest first; empty minutes are left out"`

	ScheduleLag Duration      `json:"schedule_lag" doc:"How long the most overdue schedule waits to be fired"`
	Next        []Next        `json:"next" doc:"Schedules that are due next"`
	Ahead       Forecast      `json:"ahead" doc:"What starts in the next 24 hours but for checks of monitors, by hour in UTC"`
	Incidents   []Incident    `json:"incidents" doc:"Outages that are not over, newest first"`
	Workers     []WorkerState `json:"workers" doc:"Living sessions, newest first; at most 100"`
}

// RunningJob is a job that runs.
type RunningJob struct {
	ID          int64     `json:"id"`
	Namespace   string    `json:"namespace"`
	Task        string    `json:"task"`
	Kind        Kind      `json:"kind"`
	Queue       string    `json:"queue"`
	Schedule    string    `json:"schedule,omitempty"`
	Session     string    `json:"session"`
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	ClaimedAt   time.Time `json:"claimed_at"`
	Elapsed     Duration  `json:"elapsed"`
	Timeout     Duration  `json:"timeout"`
	CancelAt    time.Time `json:"cancel_at,omitzero" doc:"When it was asked to end"`
}

// FailedJob is a job that failed for good.
type FailedJob struct {
	ID         int64     `json:"id"`
	Namespace  string    `json:"namespace"`
	Task       string    `json:"task"`
	Schedule   string    `json:"schedule,omitempty"`
	Reason     Reason    `json:"reason,omitempty"`
	Error      string    `json:"error,omitempty"`
	Attempt    int       `json:"attempt"`
	FinishedAt time.Time `json:"finished_at"`
}

// QueueLoad is how a queue keeps up.
type QueueLoad struct {
	Queue    string    `json:"queue"`
	PausedAt time.Time `json:"paused_at,omitzero"`
	Ready    Counted   `json:"ready"`
	OldestAt time.Time `json:"oldest_at,omitzero" doc:"Since when the first in line is ready"`
	Rate     JobMinute `json:"rate" doc:"What ended within the last five complete minutes"`
	Behind   bool      `json:"behind,omitempty" doc:"The first in line waits for more than a minute"`
}

// BehindAfter is how long the first job in line waits in a queue that falls
// behind.
const BehindAfter = time.Minute

// Next is a schedule that is due.
type Next struct {
	Namespace string    `json:"namespace"`
	Schedule  string    `json:"schedule"`
	NextAt    time.Time `json:"next_at"`
}

// LiveResult reports that the result is a job that has not ended.
func (r StripResult) LiveResult() bool { return !r.State.Final() }
