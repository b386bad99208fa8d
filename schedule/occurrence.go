package schedule

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Occurrence is one nominal time of a schedule and what was decided for it: a
// job, a place in the buffer, or a reason why not. A run of nominal times that
// were all skipped for one reason may share a row, from Nominal to Until.
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

// Decision is what became of an occurrence.
type Decision string

// The decisions. A buffered occurrence waits for the run before it to end and
// then becomes one of the others.
const (
	DecidedJob      Decision = "job"
	DecidedBuffered Decision = "buffered"
	DecidedSkipped  Decision = "skipped"
)

// Reasons of occurrences and of jobs that ended as skipped or canceled.
const (
	ReasonOverlap       core.Reason = "overlap"        // the run before had not ended
	ReasonBufferFull    core.Reason = "buffer_full"    // as many runs wait as may
	ReasonCatchupNone   core.Reason = "catchup_none"   // missed, and the schedule makes up for none
	ReasonCatchupLatest core.Reason = "catchup_latest" // missed, and a later one is made up for
	ReasonCatchupWindow core.Reason = "catchup_window" // missed longer ago than the window
	ReasonCatchupMax    core.Reason = "catchup_max"    // missed, and more than may be made up for at once
	ReasonBlackout      core.Reason = "blackout"       // a calendar keeps it out
	ReasonMaxRuns       core.Reason = "max_runs"       // the schedule had run as often as it may
	ReasonQuota         core.Reason = "quota"          // its namespace has as many jobs waiting as it may
	ReasonQueueFull     core.Reason = "queue_full"     // its queue has as many jobs waiting as it may
	ReasonPaused        core.Reason = "paused"         // the schedule was paused
	ReasonEdited        core.Reason = "edited"         // the times of the schedule were edited
	ReasonDeleted       core.Reason = "deleted"        // the schedule or task was deleted
	ReasonCanceled      core.Reason = "canceled"       // it was canceled
	ReasonReplaced      core.Reason = "replaced"       // a later run of the schedule took its place
	ReasonExhausted     core.Reason = "exhausted"      // every attempt was used up
	ReasonNoRetry       core.Reason = "no_retry"       // the handler or the policy said not to try again
	ReasonLost          core.Reason = "lost"           // its worker was lost and it must not start twice
	ReasonSnoozes       core.Reason = "snoozes"        // it was put off more often than may be
)

// Trigger says who asked for a job.
type Trigger string
