package hook

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Event is something that happened to one job, workflow, cycle, schedule or monitor.
type Event struct {
	ID        int64     `json:"id" doc:"The same in each delivery of this event. It grows, but an event with a smaller id may come in a later request. After a restore another event may have it, with another instant"`
	Type      string    `json:"type" doc:"What happened, such as job.failed"`
	At        time.Time `json:"at" doc:"When it was recorded, in the transaction in which it happened"`
	Namespace string    `json:"namespace"`
	Job       *Job      `json:"job,omitempty" doc:"Of events of jobs, workflows and cycles"`
	Schedule  *Schedule `json:"schedule,omitempty" doc:"Of events of schedules"`
	Monitor   *Monitor  `json:"monitor,omitempty" doc:"Of events of monitors"`
}

// Job is the job of an event. Input and output are not in it: they may hold secrets.
type Job struct {
	ID          int64            `json:"id"`
	Task        string           `json:"task"`
	Kind        task.Kind        `json:"kind"`
	Queue       string           `json:"queue"`
	State       job.State        `json:"state" enum:"scheduled,ready,succeeded,failed,canceled,skipped"`
	Reason      core.Reason      `json:"reason,omitempty"`
	Note        string           `json:"note,omitempty"`
	Error       string           `json:"error,omitempty" doc:"What the last attempt said, at most 2 KiB of it"`
	Attempt     int              `json:"attempt"`
	MaxAttempts int              `json:"max_attempts"`
	Trigger     schedule.Trigger `json:"trigger"`
	Schedule    string           `json:"schedule,omitempty"`
	Nominal     time.Time        `json:"nominal,omitzero" doc:"Planned time"`
	Key         string           `json:"key,omitempty" doc:"Idempotency key"`
	Tags        []string         `json:"tags,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	ClaimedAt   time.Time        `json:"claimed_at,omitzero"`
	DueAt       time.Time        `json:"due_at,omitzero" doc:"With job.retrying: when the next attempt may start"`
}

// Schedule is the schedule of an event.
type Schedule struct {
	Name    string      `json:"name"`
	Task    string      `json:"task"`
	Reason  core.Reason `json:"reason,omitempty" doc:"With schedule.missed: why it did not run"`
	Note    string      `json:"note,omitempty" doc:"The reason of a pause, or more about a missed run"`
	By      string      `json:"by,omitempty" doc:"Who paused it"`
	Nominal time.Time   `json:"nominal,omitzero" doc:"With schedule.missed: the planned time, or the first of them"`
	Count   int         `json:"count,omitempty" doc:"With schedule.missed: how many runs"`
}

// Monitor is the monitor of an event.
type Monitor struct {
	Name     string         `json:"name"`
	Incident int64          `json:"incident,omitempty"`
	Code     task.CheckCode `json:"code,omitempty"`
	Title    string         `json:"title,omitempty" doc:"One line for people"`
	Text     string         `json:"text,omitempty"`
	Since    time.Time      `json:"since,omitzero" doc:"Begin of the outage"`
	Lasted   core.Duration  `json:"lasted,omitempty" doc:"With monitor.up: how long it was down"`
	Tags     []string       `json:"tags,omitempty"`

	Ends alert.NotificationType `json:"ends,omitempty" doc:"With monitor.closed: what it ends, such as down"`
}

// Types of events that do not follow from a final state or from a notification.
const (
	JobRetrying       = "job.retrying" // an attempt failed, and another follows
	SchedulePaused    = "schedule.paused"
	ScheduleResumed   = "schedule.resumed"
	ScheduleCompleted = "schedule.completed"
	ScheduleMissed    = "schedule.missed"

	// Test is the type of the event of a test. No hook selects it.
	Test = "hook.test"
)

// Types lists all types of events that a hook may select.
var Types = allTypes()

var finalStates = []job.State{job.Succeeded, job.Failed, job.Canceled, job.Skipped}

// notified are the notifications that are events of monitors.
var notified = []alert.NotificationType{alert.NotificationDown, alert.NotificationUp, alert.NotificationDegraded, alert.NotificationRecovered, alert.NotificationSlow, alert.NotificationNormal,
	alert.NotificationFlapping, alert.NotificationSteady, alert.NotificationStale, alert.NotificationFresh, alert.NotificationChanged, alert.NotificationCertificate,
	alert.NotificationClosed}

func allTypes() (types []string) {
	for _, noun := range ofJobs {
		for _, s := range finalStates {
			types = append(types, noun+"."+string(s))
		}
		if noun == "job" {
			types = append(types, JobRetrying)
		}
	}
	types = append(types, SchedulePaused, ScheduleResumed, ScheduleCompleted, ScheduleMissed)
	for _, n := range notified {
		types = append(types, "monitor."+string(n))
	}
	return types
}

// TypeOf is the type of the event that a job of a kind is in a final state.
func TypeOf(kind task.Kind, s job.State) string {
	switch kind {
	case task.KindWorkflow, task.KindCycle:
		return string(kind) + "." + string(s)
	}
	return "job." + string(s)
}

// maxText bounds the error of an attempt in an event, in bytes.
const maxText = 2 << 10

// OfJob is the event that a job has ended, or that another attempt of it follows.
func OfJob(j job.Job, at time.Time) Event {
	e := Event{Type: TypeOf(j.Kind, j.State), At: at, Namespace: j.Namespace, Job: &Job{
		ID: j.ID, Task: j.Task, Kind: j.Kind, Queue: j.Queue, State: j.State, Reason: j.Reason, Attempt: j.Attempt, MaxAttempts: j.MaxAttempts,
		Trigger: j.Trigger, Schedule: j.Schedule, Nominal: j.Nominal, Key: j.Key, Tags: j.Tags, CreatedAt: j.CreatedAt, ClaimedAt: j.ClaimedAt,
	}}
	e.Job.Error, _ = core.CleanText(j.Error, maxText)
	e.Job.Note, _ = core.CleanText(j.Note, maxText)
	if !j.State.Final() {
		e.Type, e.Job.DueAt = JobRetrying, j.DueAt
	}
	return e
}

// OfSchedule is an event of a schedule.
func OfSchedule(s schedule.Schedule, kind string, at time.Time) Event {
	e := Event{Type: kind, At: at, Namespace: s.Namespace, Schedule: &Schedule{Name: s.Name, Task: s.Task}}
	if kind == SchedulePaused {
		e.Schedule.By = s.PausedBy
		e.Schedule.Note, _ = core.CleanText(s.PausedReason, maxText)
	}
	return e
}

// OfMissed is the event that runs of a schedule will never be, against the plan. It answers false for all
// others, as [alert.ScheduleMissedNotification] does.
func OfMissed(s schedule.Schedule, o schedule.Occurrence, at time.Time) (Event, bool) {
	if _, missed := alert.ScheduleMissedNotification(s, o); !missed {
		return Event{}, false
	}
	e := OfSchedule(s, ScheduleMissed, at)
	e.Schedule.Reason, e.Schedule.Nominal, e.Schedule.Count = o.Reason, o.Nominal, max(o.Count, 1)
	e.Schedule.Note, _ = core.CleanText(o.Note, maxText)
	return e, true
}

// OfMonitor is the event that a notification of a monitor tells, if it is one.
func OfMonitor(n alert.Notification, at time.Time) (Event, bool) {
	if !slices.Contains(notified, n.Type) {
		return Event{}, false
	}
	e := Event{Type: "monitor." + string(n.Type), At: at, Namespace: n.Namespace, Monitor: &Monitor{
		Name: n.Monitor, Incident: n.Incident, Code: n.Code, Title: n.Title, Since: n.Since, Lasted: n.Lasted, Tags: n.Tags, Ends: n.Ends,
	}}
	e.Monitor.Text, _ = core.CleanText(n.Text, maxText)
	return e, true
}

func (e Event) jobOr() (j Job) {
	if e.Job != nil {
		j = *e.Job
	}
	return j
}

func (e Event) monitorOr() (m Monitor) {
	if e.Monitor != nil {
		m = *e.Monitor
	}
	return m
}

func (e Event) scheduleOr() (s Schedule) {
	if e.Schedule != nil {
		s = *e.Schedule
	}
	return s
}

func (e Event) task() string { return core.Or(e.jobOr().Task, e.scheduleOr().Task) }

func (e Event) schedule() string { return core.Or(e.jobOr().Schedule, e.scheduleOr().Name) }

func (e Event) tags() []string {
	if e.Job != nil {
		return e.Job.Tags
	}
	return e.monitorOr().Tags
}
