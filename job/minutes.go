package job

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// MinuteTotals counts the jobs that ended within one minute.
type MinuteTotals struct {
	Minute   time.Time     `json:"minute"`
	OK       int64         `json:"ok"`
	Failed   int64         `json:"failed"`
	Canceled int64         `json:"canceled"`
	Skipped  int64         `json:"skipped"`
	Ran      core.Duration `json:"ran" doc:"From claim to end, added up"`
	Started  int64         `json:"started" doc:"Those of them that were claimed"`
	Lag      core.Duration `json:"lag" doc:"From due to claim, added up over those"`
	LagMost  core.Duration `json:"lag_most" doc:"The longest of them"`
}

// Add adds the counts of o.
func (m *MinuteTotals) Add(o MinuteTotals) {
	m.OK += o.OK
	m.Failed += o.Failed
	m.Canceled += o.Canceled
	m.Skipped += o.Skipped
	m.Ran += o.Ran
	m.Started += o.Started
	m.Lag += o.Lag
	m.LagMost = max(m.LagMost, o.LagMost)
}

// MinuteQuery selects rates of finished jobs.
type MinuteQuery struct {
	Namespace string // * for all
	Queue     string
	Within    time.Duration // length of the period up to now; default: 1h; at most 48h
}

// RunningJob is a running job.
type RunningJob struct {
	ID          int64         `json:"id"`
	Namespace   string        `json:"namespace"`
	Task        string        `json:"task"`
	Kind        task.Kind     `json:"kind"`
	Queue       string        `json:"queue"`
	Schedule    string        `json:"schedule,omitempty"`
	Session     string        `json:"session"`
	Attempt     int           `json:"attempt"`
	MaxAttempts int           `json:"max_attempts"`
	ClaimedAt   time.Time     `json:"claimed_at"`
	Elapsed     core.Duration `json:"elapsed"`
	Timeout     core.Duration `json:"timeout"`
	CancelAt    time.Time     `json:"cancel_at,omitzero" doc:"When it was asked to end"`
	Usual       core.Duration `json:"usual,omitempty" doc:"The median of the task's last good runs, of at most 20; empty when there is none"`
}

// FailedJob is a job that failed permanently.
type FailedJob struct {
	ID         int64       `json:"id"`
	Namespace  string      `json:"namespace"`
	Task       string      `json:"task"`
	Schedule   string      `json:"schedule,omitempty"`
	Reason     core.Reason `json:"reason,omitempty"`
	Error      string      `json:"error,omitempty"`
	Attempt    int         `json:"attempt"`
	FinishedAt time.Time   `json:"finished_at"`
}

// QueueLoad is the load of a queue.
type QueueLoad struct {
	Queue    string       `json:"queue"`
	PausedAt time.Time    `json:"paused_at,omitzero"`
	Ready    core.Counted `json:"ready"`
	OldestAt time.Time    `json:"oldest_at,omitzero" doc:"Since when the first in line is ready"`
	Rate     MinuteTotals `json:"rate" doc:"What ended within the last five complete minutes"`
	Behind   bool         `json:"behind,omitempty" doc:"The first in line waits for more than a minute"`
}
