package schedule

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Occurrence is one nominal time of a schedule and its decision: a job, a place
// in the buffer, or a reason why not. Consecutive nominal times that were skipped
// for the same reason may share a row, from Nominal to Until.
type Occurrence struct {
	ScheduleID int64       `json:"schedule_id"`
	Schedule   string      `json:"schedule,omitempty" doc:"Name of the schedule"`
	Nominal    time.Time   `json:"nominal" doc:"The planned time; its identity"`
	Until      time.Time   `json:"until,omitzero" doc:"Last nominal time of a row that stands for several"`
	Count      int         `json:"count" doc:"Nominal times this row stands for; 10001 means more than 10000"`
	Decision   Decision    `json:"decision" enum:"job,buffered,skipped"`
	Reason     core.Reason `json:"reason,omitempty" doc:"Why it was skipped"`
	Note       string      `json:"note,omitempty" doc:"What stood in the way, such as the job before"`
	JobID      int64       `json:"job_id,omitempty"`
	DueAt      time.Time   `json:"due_at,omitzero" doc:"Nominal time and jitter"`
	DecidedAt  time.Time   `json:"decided_at"`
}

// Decision is the decision about an occurrence.
type Decision string

// The decisions. A buffered occurrence waits for the end of the previous run and
// then gets another decision.
const (
	DecidedJob      Decision = "job"
	DecidedBuffered Decision = "buffered"
	DecidedSkipped  Decision = "skipped"
)

// Reasons of occurrences and of jobs that ended as skipped or canceled.
const (
	ReasonOverlap       core.Reason = "overlap"        // the previous run had not ended
	ReasonBufferFull    core.Reason = "buffer_full"    // the buffer has no room for another run
	ReasonCatchupNone   core.Reason = "catchup_none"   // missed, and the schedule catches up no runs
	ReasonCatchupLatest core.Reason = "catchup_latest" // missed, and only a later run is caught up
	ReasonCatchupWindow core.Reason = "catchup_window" // missed longer ago than the catch-up window
	ReasonCatchupMax    core.Reason = "catchup_max"    // missed, and beyond the most runs to catch up at once
	ReasonBlackout      core.Reason = "blackout"       // a calendar excludes it
	ReasonMaxRuns       core.Reason = "max_runs"       // the schedule had reached max_runs
	ReasonQuota         core.Reason = "quota"          // the namespace has reached its quota of waiting jobs
	ReasonQueueFull     core.Reason = "queue_full"     // the queue has reached its bound of waiting jobs
	ReasonPaused        core.Reason = "paused"         // the schedule was paused
	ReasonEdited        core.Reason = "edited"         // the times of the schedule were edited
	ReasonDeleted       core.Reason = "deleted"        // the schedule or task was deleted
	ReasonCanceled      core.Reason = "canceled"       // canceled on request
	ReasonReplaced      core.Reason = "replaced"       // a later run of the schedule replaced it
	ReasonExhausted     core.Reason = "exhausted"      // all attempts were used
	ReasonNoRetry       core.Reason = "no_retry"       // the handler or the policy forbade a retry
	ReasonLost          core.Reason = "lost"           // the worker was lost and the job must not start twice
	ReasonSnoozes       core.Reason = "snoozes"        // exceeded the most snoozes
	ReasonSnoozed       core.Reason = "snoozed"        // its last attempt put it off: a sleep, or a wait of a step
)

// Trigger is why a job exists.
type Trigger string
