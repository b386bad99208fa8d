package belfry

import (
	"fmt"
	"slices"
	"time"
)

// Page is a part of a list and where the next part begins. The page of a log
// has a next cursor even at its end, because a log goes on.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"Cursor for the next page; empty on the last"`
}

// Paging asks for a part of a list.
type Paging struct {
	Limit  int    `json:"limit,omitempty" doc:"Items per page; default: 50; at most 1000"`
	Cursor string `json:"cursor,omitempty" doc:"Next of the page before"`
}

// Bound is the page size to use.
func (p Paging) Bound() int {
	return min(max(or(p.Limit, 50), 1), 1000)
}

// TaskFilter selects tasks, by name.
type TaskFilter struct {
	Paging
	Namespace string // * for all
	Kind      Kind
	Tag       string
}

// ScheduleFilter selects schedules, by name.
type ScheduleFilter struct {
	Paging
	Namespace string // * for all
	State     ScheduleState
	Task      string
}

// OccurrenceFilter selects occurrences of one schedule, newest first.
type OccurrenceFilter struct {
	Paging
	Namespace string
	Schedule  string
	Decision  Decision
}

// JobFilter selects jobs, newest first. It also says which jobs a bulk action
// is for.
type JobFilter struct {
	Paging    `json:"-"`
	Namespace string     `json:"namespace,omitempty"`
	States    []JobState `json:"states,omitempty"`
	Task      string     `json:"task,omitempty"`
	Schedule  string     `json:"schedule,omitempty"`
	Queue     string     `json:"queue,omitempty"`
	Tag       string     `json:"tag,omitempty"`
	Since     time.Time  `json:"since,omitzero" doc:"Created at or after"`
	Until     time.Time  `json:"until,omitzero" doc:"Created before"`
}

// Validate says what is wrong with a filter.
func (f JobFilter) Validate() error {
	var p problems
	for _, s := range f.States {
		if !slices.Contains(JobStates, s) {
			p.add("states", string(s), "is not a job state", fmt.Sprint("one of ", JobStates))
		}
	}
	return p.err("job filter")
}

// AuditFilter selects audit rows, newest first.
type AuditFilter struct {
	Paging
	Namespace string // * for all
	Noun      string
	Name      string
}

// Selection names the jobs of a bulk action: by id, or all that a filter
// finds, oldest first, up to [MaxBatch] in one call.
type Selection struct {
	IDs    []int64    `json:"ids,omitempty"`
	Filter *JobFilter `json:"filter,omitempty" doc:"Instead of ids"`
	DryRun bool       `json:"dry_run,omitempty" doc:"Only say which jobs it would be"`
	Note   string     `json:"note,omitempty" doc:"Why; kept with the jobs and in the audit"`
}

// Validate says what is wrong with a selection.
func (s Selection) Validate() error {
	var p problems
	if (len(s.IDs) == 0) == (s.Filter == nil) {
		p.add("ids", "", "either ids or a filter must be given", "and not both")
	}
	if len(s.IDs) > MaxBatch {
		p.addf("ids", len(s.IDs), "has more than %d entries", MaxBatch)
	}
	if len(s.Note) > MaxDescription {
		p.addf("note", len(s.Note), "has more than %d bytes", MaxDescription)
	}
	if s.Filter != nil {
		p.nest("filter", s.Filter.Validate())
	}
	return p.err("selection")
}

// Selected is the answer to a bulk action.
type Selected struct {
	IDs  []int64          `json:"ids" doc:"Jobs it was done to"`
	Left map[int64]string `json:"left,omitempty" doc:"Jobs it was not done to, and why"`
	More bool             `json:"more,omitempty" doc:"The filter finds more; call again"`
}

// LogFilter selects pieces of a job's log, oldest first.
type LogFilter struct {
	Paging
	Attempt int // 0: all
}

// LogLine is a piece of a job's log with the attempt it belongs to.
type LogLine struct {
	LogPiece
	Attempt int `json:"attempt"`
}

// Why explains why a job is where it is.
type Why struct {
	Job     Job      `json:"job"`
	Summary string   `json:"summary" doc:"The answer in one sentence"`
	Checks  []Check  `json:"checks" doc:"Everything that has to be right, in the order it is looked at"`
	Next    string   `json:"next,omitempty" doc:"What to do about it"`
	Workers []string `json:"workers,omitempty" doc:"Workers that could run it"`
}

// Check is one thing that has to be right.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty" doc:"What to do when it is not"`
}

// Event is something that changed, for those who watch.
type Event struct {
	Type string    `json:"type" enum:"job,change" doc:"job: a job's row changed; change: somebody changed a definition"`
	At   time.Time `json:"at"`
	Job  *Job      `json:"job,omitempty"`
	Edit *Audit    `json:"edit,omitempty"`
}

// CalendarFilter selects calendars, by name.
type CalendarFilter struct {
	Paging
	Namespace string // * for all
}

// BackfillFilter selects backfills, newest first.
type BackfillFilter struct {
	Paging
	Namespace string // * for all
	Schedule  string
}
