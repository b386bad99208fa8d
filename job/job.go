package job

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Job is one requested execution of a task: a durable row from the request until
// the end of its retention.
type Job struct {
	ID          int64            `json:"id"`
	Namespace   string           `json:"namespace"`
	Task        string           `json:"task"`
	Kind        task.Kind        `json:"kind"`
	Queue       string           `json:"queue"`
	Priority    int              `json:"priority"`
	Aged        int              `json:"aged,omitempty" doc:"By how many priorities it goes before jobs of its own priority, because it has waited in a queue with ageing"`
	State       State            `json:"state" enum:"waiting,scheduled,ready,running,succeeded,failed,canceled,skipped"`
	Reason      core.Reason      `json:"reason,omitempty" doc:"Why it ended as it did, was withdrawn, or waits"`
	Note        string           `json:"note,omitempty" doc:"Who canceled it and why, and the like"`
	Error       string           `json:"error,omitempty" doc:"What the last attempt said"`
	Input       json.RawMessage  `json:"input,omitempty"`
	Output      json.RawMessage  `json:"output,omitempty" doc:"What the last attempt returned"`
	Tags        []string         `json:"tags,omitempty"`
	Trigger     schedule.Trigger `json:"trigger" enum:"enqueue,schedule,manual,backfill,check,cycle,step,spawn,trial"`
	Schedule    string           `json:"schedule,omitempty" doc:"Name of the schedule it belongs to"`
	ScheduleID  int64            `json:"schedule_id,omitempty"`
	Generation  int64            `json:"generation,omitempty" doc:"Of the schedule, when it fired"`
	Nominal     time.Time        `json:"nominal,omitzero" doc:"Planned time; the job's identity within its schedule"`
	DueAt       time.Time        `json:"due_at" doc:"When it may start: planned time and jitter, a delay, or the next retry"`
	CreatedAt   time.Time        `json:"created_at"`
	ClaimedAt   time.Time        `json:"claimed_at,omitzero" doc:"Last claim by a worker"`
	FinishedAt  time.Time        `json:"finished_at,omitzero"`
	DeadlineAt  time.Time        `json:"deadline_at,omitzero" doc:"When the server ends the attempt if its worker does not"`
	Attempt     int              `json:"attempt" doc:"How often a worker has claimed it, whatever came of that"`
	Failures    int              `json:"failures" doc:"Attempts that count against max_attempts"`
	Infra       int              `json:"infra,omitempty" doc:"Attempts that the machine spoiled and that count in the task's infrastructure retries instead"`
	Snoozes     int              `json:"snoozes,omitempty"`
	MaxAttempts int              `json:"max_attempts"`
	Timeout     core.Duration    `json:"timeout"`
	Lease       int64            `json:"lease,omitempty" doc:"Number of its last lease"`
	Session     string           `json:"session,omitempty" doc:"Session that runs or last ran it"`
	CancelAt    time.Time        `json:"cancel_at,omitzero" doc:"When it was asked to end while running"`
	Ahead       bool             `json:"ahead,omitempty" doc:"Its worker claimed it beyond its free slots and has not yet said that it began"`
	ActiveKey   string           `json:"active_key,omitempty" doc:"No other live job of the namespace has this key"`
	Key         string           `json:"key,omitempty" doc:"Idempotency key it was asked for with"`
	Progress    *JobProgress     `json:"progress,omitempty" doc:"How far its last attempt said that it was: of one job that is shown, and of those in a list that run"`
	RunAgainOf  int64            `json:"run_again_of,omitempty" doc:"Of one job that is shown: the finished job that it was made from"`
	RunAgainAs  []int64          `json:"run_again_as,omitempty" doc:"Of one job that is shown: the last ten that were made from it, newest first"`
	Debounced   *Debounced       `json:"debounced,omitempty" doc:"Of one job that is shown, whose task debounced it: the requests that joined"`
}

// State is the state of a job.
type State string

// The states. The last four are final.
const (
	Waiting   State = "waiting"   // waits for something besides time and a worker, such as a limit or an upload
	Scheduled State = "scheduled" // waits for its due time or its next retry
	Ready     State = "ready"     // waits for a worker
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"   // exhausted its attempts, or failed permanently
	Canceled  State = "canceled" // ended on request
	Skipped   State = "skipped"  // never started; Reason says why
)

// Final reports whether a job in this state has ended.
func (s State) Final() bool {
	return s == Succeeded || s == Failed || s == Canceled || s == Skipped
}

// States lists all states, in the order in which a job passes them.
var States = []State{Waiting, Scheduled, Ready, Running, Succeeded, Failed, Canceled, Skipped}

// shownScheduled explains words that lists of jobs show in place of a state.
const shownScheduled = "jobs that are shown as retrying or snoozed are scheduled"

// A manual trigger belongs to a schedule but to none of its nominal times. A
// check belongs to a monitor, and its end goes into a verdict.
const (
	TriggerEnqueue  schedule.Trigger = "enqueue"
	TriggerSchedule schedule.Trigger = "schedule"
	TriggerManual   schedule.Trigger = "manual"
	TriggerCheck    schedule.Trigger = "check"
)

// Triggers lists all triggers.
var Triggers = []schedule.Trigger{TriggerEnqueue, TriggerSchedule, TriggerManual, schedule.TriggerBackfill, TriggerCheck, TriggerCycle, TriggerStep, TriggerSpawn, TriggerTrial}

// NewJob is the request for a job. Empty fields take their values from the task.
type NewJob struct {
	Namespace   string          `json:"namespace,omitempty" doc:"Default: default"`
	Task        string          `json:"task"`
	Kind        task.Kind       `json:"kind,omitempty" enum:"func" doc:"Set to func to enqueue for a Go handler whose task nobody created yet"`
	Input       json.RawMessage `json:"input,omitempty" doc:"At most 256 KiB and 500 levels deep"`
	Queue       string          `json:"queue,omitempty"`
	Priority    *int            `json:"priority,omitempty"`
	DueAt       time.Time       `json:"due_at,omitzero" doc:"Not before this time; default: now"`
	Delay       core.Duration   `json:"delay,omitempty" doc:"Not before this long from now, instead of due_at"`
	MaxAttempts int             `json:"max_attempts,omitempty"`
	Timeout     core.Duration   `json:"timeout,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Key         string          `json:"key,omitempty" doc:"Idempotency key: within the window a second job with it is not made, the first is returned; another task, input or setting with it is refused"`
	KeyWindow   core.Duration   `json:"key_window,omitempty" doc:"How long the key is remembered; default: 24h; at most 90d"`
	ActiveKey   string          `json:"active_key,omitempty" doc:"At most one job with this key that has not ended; a second is not made, the first is returned"`
}

// Defaults and limits of a job.
const (
	DefaultKeyWindow = core.Duration(24 * time.Hour)
	MaxKeyWindow     = core.Duration(90 * 24 * time.Hour)
	MaxDelay         = core.Duration(10 * 366 * 24 * time.Hour)
	MaxSnooze        = core.Duration(30 * 24 * time.Hour)
	MaxSnoozes       = 1000
)

// Enqueued is the result of one [NewJob].
type Enqueued struct {
	Job      Job  `json:"job"`
	Existing bool `json:"existing" doc:"The job was there already, under the same key"`
	// Removed means that the job has ended and was pruned: only its ID, namespace and task are known.
	Removed bool `json:"removed,omitempty" doc:"The job that was there has ended and is not kept any longer: of job only id, namespace and task mean something"`
	// Reason is why no job was created, if the cause is not a key of the request.
	Reason core.Reason `json:"reason,omitempty" enum:"throttled,debounced" doc:"Why no other was made, where that is not for a key of the request: throttled, because one was made within the window of the task's throttle; debounced, because it joined one that waits for the window of the task's debounce"`
	// Joined is how many requests the job represents besides the first.
	Joined int64 `json:"joined,omitempty" doc:"Of a debounced job: how many requests have joined the first, this one among them"`
}

// Only returns the only result of an enqueue of one job.
func Only(all []Enqueued, err error) (Enqueued, error) {
	if err != nil {
		return Enqueued{}, err
	}
	return all[0], nil
}

// Stands describes for people the job that resulted from the request.
func (e Enqueued) Stands() string {
	if e.Removed {
		return "ended and not kept any longer"
	}
	return string(e.Job.State)
}

// Validate returns the problems of the request as one error, or nil. now is the time of the request.
func (n NewJob) Validate(now time.Time) error {
	var p core.Problems
	core.CheckName(&p, "task", n.Task)
	if n.Namespace != "" {
		core.CheckName(&p, "namespace", n.Namespace)
	}
	if n.Queue != "" {
		core.CheckName(&p, "queue", n.Queue)
	}
	if n.Kind != "" && n.Kind != task.KindFunc {
		p.Add("kind", string(n.Kind), "cannot be given for a job", "only func, for a handler without a task")
	}
	if n.Priority != nil {
		core.CheckPriority(&p, *n.Priority)
	}
	core.CheckInput(&p, "input", n.Input)
	core.CheckTags(&p, n.Tags)
	n.validateTimes(&p, now)
	if n.MaxAttempts < 0 || n.MaxAttempts > 100 {
		p.Addf("max_attempts", n.MaxAttempts, "is outside 1 to 100")
	}
	if n.Timeout != 0 && (n.Timeout < task.MinTimeout || n.Timeout > task.MaxTimeout) {
		p.Addf("timeout", n.Timeout, "is outside %s to %s", task.MinTimeout, task.MaxTimeout)
	}
	CheckKey(&p, "key", n.Key)
	CheckKey(&p, "active_key", n.ActiveKey)
	return p.Err(fmt.Sprintf("job for task %q", n.Task))
}

// Fits returns an error if the request does not fit the task. A run of a workflow or cycle has no attempts; its jobs have.
func (n NewJob) Fits(t task.Task) error {
	parts := map[task.Kind]string{task.KindWorkflow: "steps", task.KindCycle: "members"}[t.Kind]
	if n.MaxAttempts == 0 || parts == "" {
		return nil
	}
	return core.InvalidField("max_attempts", strconv.Itoa(n.MaxAttempts), fmt.Sprintf("must be left out: task %q is a %s, whose runs have no attempts", n.Task, t.Kind), "set max_attempts of its "+parts)
}

// CheckKey adds the problems of an idempotency key or active key.
func CheckKey(p *core.Problems, field, key string) {
	if clean, cut := core.CleanText(key, core.MaxKey); cut || clean != key {
		p.Add(field, key, fmt.Sprintf("is not plain text of at most %d bytes", core.MaxKey), "")
	}
}

func (n NewJob) validateTimes(p *core.Problems, now time.Time) {
	if n.Delay < 0 || n.Delay > MaxDelay {
		p.Addf("delay", n.Delay, "is outside 0s to %s", MaxDelay)
	}
	if n.Delay != 0 && !n.DueAt.IsZero() {
		p.Add("delay", n.Delay.String(), "cannot stand beside due_at", "keep one of them")
	}
	if n.DueAt.After(now.Add(MaxDelay.D())) {
		p.Add("due_at", n.DueAt.Format(time.RFC3339), "is more than ten years away", "")
	}
	if !n.DueAt.IsZero() && n.DueAt.Before(now.Add(-core.OnTime)) {
		p.Add("due_at", n.DueAt.Format(time.RFC3339), "has passed", "leave it out to run at once")
	}
	if n.KeyWindow < 0 || n.KeyWindow > MaxKeyWindow {
		p.Addf("key_window", n.KeyWindow, "is outside 0s to %s", MaxKeyWindow)
	}
}

// Attempt is one ended try of a job.
type Attempt struct {
	JobID     int64     `json:"job_id"`
	Number    int       `json:"number" doc:"From 1"`
	Lease     int64     `json:"lease"`
	Session   string    `json:"session"`
	Worker    string    `json:"worker,omitempty"`
	ClaimedAt time.Time `json:"claimed_at"`
	StartedAt time.Time `json:"started_at,omitzero" doc:"When the worker began, by its own clock made to fit the claim; empty if it did not say"`
	EndedAt   time.Time `json:"ended_at"`
	Outcome   Outcome   `json:"outcome" enum:"ok,error,timeout,canceled,lost,snoozed,handed_back"`
	Error     string    `json:"error,omitempty"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Signal    string    `json:"signal,omitempty"`
	LogCut    bool      `json:"log_cut,omitempty" doc:"Output went over its limit and was cut"`

	Sandboxed *task.Sandboxed `json:"sandboxed,omitempty" doc:"Of a program: how it was kept apart, what it used and left"`
}

// BeganAt returns when the attempt began. It is zero if that is unknown: the
// worker was lost, or the job was handed back or canceled before it had a slot.
func (a Attempt) BeganAt() time.Time {
	switch {
	case !a.StartedAt.IsZero():
		return a.StartedAt
	case a.Outcome == OutcomeLost, a.Outcome == OutcomeHandedBack, a.Outcome == OutcomeCanceled:
		return time.Time{}
	}
	return a.ClaimedAt
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes. Snoozed and handed back do not count against max attempts.
const (
	OutcomeOK         Outcome = "ok"
	OutcomeError      Outcome = "error"
	OutcomeTimeout    Outcome = "timeout"
	OutcomeCanceled   Outcome = "canceled"
	OutcomeLost       Outcome = "lost"
	OutcomeSnoozed    Outcome = "snoozed"
	OutcomeHandedBack Outcome = "handed_back"
)

// IDFromText parses a job ID as people and URLs write it. Errors name the field.
func IDFromText(field, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, core.InvalidField(field, text, "is not a job id", "a number such as 1042, see: belfry job list")
	}
	return id, nil
}

// TriggerCycle is the trigger of jobs of members of a cycle.
const TriggerCycle schedule.Trigger = "cycle"

// TriggerStep is the trigger of jobs of steps of a workflow.
const TriggerStep schedule.Trigger = "step"

// TriggerSpawn is the trigger of jobs that a step of a handler has enqueued.
const TriggerSpawn schedule.Trigger = "spawn"

// StateFor returns the state of a new job: scheduled if it is due in the future, otherwise ready.
func StateFor(future bool) State {
	if future {
		return Scheduled
	}
	return Ready
}
