package job

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Filter selects jobs, newest first, for lists and for bulk actions.
type Filter struct {
	core.Paging `json:"-"`
	Namespace   string    `json:"namespace,omitempty"`
	States      []State   `json:"states,omitempty"`
	Task        string    `json:"task,omitempty"`
	Schedule    string    `json:"schedule,omitempty"`
	Queue       string    `json:"queue,omitempty"`
	Tag         string    `json:"tag,omitempty"`
	Since       time.Time `json:"since,omitzero" doc:"Created at or after"`
	Until       time.Time `json:"until,omitzero" doc:"Created before"`

	ID         int64            `json:"id,omitempty" doc:"Only this job"`
	Kind       task.Kind        `json:"kind,omitempty"`
	Trigger    schedule.Trigger `json:"trigger,omitempty"`
	Reason     core.Reason      `json:"reason,omitempty" doc:"Why it waits, or ended as it did, such as limit"`
	Session    string           `json:"session,omitempty" doc:"Session that runs or last ran it"`
	MinAttempt int              `json:"min_attempt,omitempty" doc:"At least so many attempts begun"`
	MaxAttempt int              `json:"max_attempt,omitempty" doc:"At most so many"`
	Error      string           `json:"error,omitempty" doc:"Part of what the last attempt said, whatever its case"`
}

// Validate returns the problems of a filter as one error, or nil.
func (f Filter) Validate() error {
	var p core.Problems
	for _, s := range f.States {
		if !slices.Contains(States, s) {
			p.Add("states", string(s), "is not a job state", "one of "+core.List(States)+"; "+shownScheduled)
		}
	}
	if f.Kind != "" && !slices.Contains(task.TaskKinds, f.Kind) {
		p.Add("kind", string(f.Kind), "is not a kind that this Belfry knows", "one of "+core.List(task.TaskKinds))
	}
	if f.Trigger != "" && !slices.Contains(Triggers, f.Trigger) {
		p.Add("trigger", string(f.Trigger), "asks for no jobs", "one of "+core.List(Triggers))
	}
	if f.ID < 0 {
		p.Addf("id", f.ID, "is not a job id")
	}
	if f.MinAttempt < 0 || f.MaxAttempt < 0 {
		p.Addf("attempt", min(f.MinAttempt, f.MaxAttempt), "is negative")
	}
	if len(f.Error) > MaxJobQuery {
		p.Addf("error", f.Error, "has more than %d bytes", MaxJobQuery)
	}
	return p.Err("job filter")
}

// Count is the number of jobs that a filter finds.
type Count struct {
	core.Counted
	States map[State]core.Counted `json:"states,omitempty" doc:"The same for each state, if asked for"`
}

// LogFilter selects pieces of a job's log, oldest first.
type LogFilter struct {
	core.Paging
	Attempt int // 0: all
}

// LogLine is a piece of a job's log with the attempt it belongs to.
type LogLine struct {
	LogPiece
	Attempt int `json:"attempt"`
}

// Why explains the state of a job.
type Why struct {
	Job     Job          `json:"job"`
	Summary string       `json:"summary" doc:"The answer in one sentence"`
	Checks  []core.Check `json:"checks" doc:"Everything that has to be right, in the order it is looked at"`
	Next    string       `json:"next,omitempty" doc:"What to do about it"`
	Workers []string     `json:"workers,omitempty" maxItems:"10" doc:"Workers that could run it, the first ten"`
	More    int          `json:"more_workers,omitempty" doc:"How many others could"`
}

// ShownWorkers is how many of the workers that could run a job are named.
const ShownWorkers = 10
