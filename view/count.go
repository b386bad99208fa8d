package view

import (
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// CountOptions sets how far to count. The zero value is ready to use.
type CountOptions struct {
	Cap     int  // default: 1,000; at most [core.CountLimit]
	ByState bool // count each state as well
}

// Bound returns how far to count.
func (o CountOptions) Bound() int { return min(max(core.Or(o.Cap, 1000), 1), core.CountLimit) }

// Selection selects the jobs of a bulk action: by ID, or all that a filter finds,
// oldest first, up to [core.MaxBatch] in one call.
type Selection struct {
	IDs    []int64     `json:"ids,omitempty"`
	Filter *job.Filter `json:"filter,omitempty" doc:"Instead of ids"`
	Query  string      `json:"query,omitempty" doc:"A search instead of ids or a filter, such as: task:backup state:failed since:2h"`
	Cursor string      `json:"cursor,omitempty" doc:"With a filter or search: next of the answer before, to go on behind what it was about"`
	DryRun bool        `json:"dry_run,omitempty" doc:"Only say which jobs it would be"`
	Sample int         `json:"sample,omitempty" doc:"With a dry run: answer so many ids and a count, instead of up to 10000 ids"`
	Note   string      `json:"note,omitempty" doc:"Why; kept with the jobs and in the audit"`
	Key    string      `json:"key,omitempty" doc:"Idempotency key of a retry: a job that was retried with it is not retried again; remembered for 24h"`
}

// Read returns the selection with its search parsed as a filter, as of now.
func (s Selection) Read(now time.Time) (Selection, error) {
	if s.Query == "" {
		return s, nil
	}
	f, err := job.ParseJobFilter(s.Query, now)
	if err != nil {
		return s, err
	}
	if s.Filter != nil || len(s.IDs) > 0 {
		return s, core.InvalidField("query", s.Query, "stands beside ids or a filter", "keep one of them")
	}
	s.Filter, s.Query = &f, ""
	return s, nil
}

// Validate returns the problems of a selection as one error, or nil.
func (s Selection) Validate() error {
	var p core.Problems
	if (len(s.IDs) == 0) == (s.Filter == nil) {
		p.Add("ids", "", "either ids or a filter must be given", "and not both")
	}
	if s.Cursor != "" && s.Filter == nil {
		p.Add("cursor", s.Cursor, "goes with a filter", "leave it out")
	}
	if s.Sample != 0 && (!s.DryRun || s.Sample < 0) {
		p.Addf("sample", s.Sample, "goes with a dry run, and is a number of ids")
	}
	p.AtMost("ids", len(s.IDs), core.MaxBatch)
	if len(s.Note) > core.MaxDescription {
		p.Addf("note", s.Note, "has more than %d bytes", core.MaxDescription)
	}
	job.CheckKey(&p, "key", s.Key)
	if s.Filter != nil {
		p.Nest("filter", s.Filter.Validate())
	}
	return p.Err("selection")
}

// NoSuchJob is the reason for a job that does not exist.
const NoSuchJob = "no such job"

// Selected is the result of a bulk action.
type Selected struct {
	IDs  []int64          `json:"ids" doc:"Jobs it was done to"`
	Left map[int64]string `json:"left,omitempty" doc:"Jobs it was not done to, and why"`
	// Existing is set by a retry with a key.
	Existing []int64 `json:"existing,omitempty" doc:"Jobs that were retried already, with the same key"`
	More     bool    `json:"more,omitempty" doc:"The filter may find more; call again with next as the cursor"`
	Next     string  `json:"next,omitempty" doc:"Cursor to go on with"`
	// Count is the number of jobs that a dry run with a sample would affect,
	// counted up to its cap.
	Count *core.Counted `json:"count,omitempty" doc:"Of a dry run with a sample: how many jobs it would be, as far as they are counted"`
}

// Event is a change, for watchers.
type Event struct {
	Type  string        `json:"type" enum:"job,change,check" doc:"job: a job's row changed; change: a definition was changed; check: a monitor was judged, which the node alone tells that did it"`
	At    time.Time     `json:"at"`
	Job   *job.Job      `json:"job,omitempty"`
	Edit  *access.Audit `json:"edit,omitempty"`
	Check *CheckEvent   `json:"check,omitempty"`
}

// CheckEvent is a new judgement of a monitor, by an ended check or a missing call.
type CheckEvent struct {
	Namespace string            `json:"namespace"`
	Monitor   string            `json:"monitor"`
	Outcome   task.CheckOutcome `json:"outcome,omitempty" doc:"Of the check; empty when none came"`
	Status    monitor.Status    `json:"status" doc:"Of the monitor from now on"`
}
