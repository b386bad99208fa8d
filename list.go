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
	// Looked is set where a search ended before the page was full, because it
	// looks at so many rows at once and no further. Go on with next.
	Looked int `json:"looked,omitempty" doc:"Rows that a search looked at, when it stopped before the page was full; go on with next"`
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
	Part      string // of the name, whatever its case
}

// ScheduleFilter selects schedules, by name.
type ScheduleFilter struct {
	Paging
	Namespace string // * for all
	State     ScheduleState
	Task      string
	Tag       string // of the task
	Part      string // of the name, whatever its case
}

// ScheduleLook is how many schedules are looked at for one page of a filter that
// no index answers: by a part of the name, by a task among those that are
// paused, by a tag that more than 20 tasks have.
const ScheduleLook = 50_000

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

	ID         int64   `json:"id,omitempty" doc:"Only this job"`
	Kind       Kind    `json:"kind,omitempty"`
	Trigger    Trigger `json:"trigger,omitempty"`
	Session    string  `json:"session,omitempty" doc:"Session that runs or last ran it"`
	MinAttempt int     `json:"min_attempt,omitempty" doc:"At least so many attempts begun"`
	MaxAttempt int     `json:"max_attempt,omitempty" doc:"At most so many"`
	Error      string  `json:"error,omitempty" doc:"Part of what the last attempt said, whatever its case"`
}

// Validate says what is wrong with a filter.
func (f JobFilter) Validate() error {
	var p problems
	for _, s := range f.States {
		if !slices.Contains(JobStates, s) {
			p.add("states", string(s), "is not a job state", fmt.Sprint("one of ", JobStates))
		}
	}
	if f.Kind != "" && !slices.Contains(TaskKinds, f.Kind) {
		p.add("kind", string(f.Kind), "is not a kind that this Belfry knows", "one of "+kindList(TaskKinds))
	}
	if f.Trigger != "" && !slices.Contains(Triggers, f.Trigger) {
		p.add("trigger", string(f.Trigger), "asks for no jobs", fmt.Sprint("one of ", Triggers))
	}
	if f.ID < 0 {
		p.addf("id", f.ID, "is not a job id")
	}
	if f.MinAttempt < 0 || f.MaxAttempt < 0 {
		p.addf("attempt", min(f.MinAttempt, f.MaxAttempt), "is negative")
	}
	if len(f.Error) > MaxJobQuery {
		p.addf("error", len(f.Error), "has more than %d bytes", MaxJobQuery)
	}
	return p.err("job filter")
}

// CountOptions says how far to count. The zero value works.
type CountOptions struct {
	Cap     int  // default: 1,000; at most [CountLimit]
	ByState bool // each state too
}

// Bound is how far to count.
func (o CountOptions) Bound() int { return min(max(or(o.Cap, 1000), 1), CountLimit) }

// Counted is a number that was counted no further than a cap.
type Counted struct {
	Count  int  `json:"count" doc:"At least so many"`
	More   bool `json:"more,omitempty" doc:"There may be more: counting stopped at its cap, or after the rows it looks at"`
	Looked int  `json:"looked,omitempty" doc:"Rows that were looked at because no index answers all of the search"`
}

// JobCount is how many jobs a filter finds.
type JobCount struct {
	Counted
	States map[JobState]Counted `json:"states,omitempty" doc:"The same for each state, if asked for"`
}

// AuditFilter selects audit rows, newest first.
type AuditFilter struct {
	Paging
	Namespace string // * for all
	Noun      string
	Name      string
	Actor     string
	Since     time.Time // at or after
	Until     time.Time // before
}

// Selection names the jobs of a bulk action: by id, or all that a filter
// finds, oldest first, up to [MaxBatch] in one call.
type Selection struct {
	IDs    []int64    `json:"ids,omitempty"`
	Filter *JobFilter `json:"filter,omitempty" doc:"Instead of ids"`
	Query  string     `json:"query,omitempty" doc:"A search instead of ids or a filter, such as: task:backup state:failed since:2h"`
	Cursor string     `json:"cursor,omitempty" doc:"With a filter or search: next of the answer before, to go on behind what it was about"`
	DryRun bool       `json:"dry_run,omitempty" doc:"Only say which jobs it would be"`
	Sample int        `json:"sample,omitempty" doc:"With a dry run: answer so many ids and a count, instead of up to 10000 ids"`
	Note   string     `json:"note,omitempty" doc:"Why; kept with the jobs and in the audit"`
}

// Read is the selection with its search read as a filter, as of now.
func (s Selection) Read(now time.Time) (Selection, error) {
	if s.Query == "" {
		return s, nil
	}
	f, err := ParseJobFilter(s.Query, now)
	if err != nil {
		return s, err
	}
	if s.Filter != nil || len(s.IDs) > 0 {
		return s, InvalidField("query", s.Query, "stands beside ids or a filter", "keep one of them")
	}
	s.Filter, s.Query = &f, ""
	return s, nil
}

// Validate says what is wrong with a selection.
func (s Selection) Validate() error {
	var p problems
	if (len(s.IDs) == 0) == (s.Filter == nil) {
		p.add("ids", "", "either ids or a filter must be given", "and not both")
	}
	if s.Cursor != "" && s.Filter == nil {
		p.add("cursor", s.Cursor, "goes with a filter", "leave it out")
	}
	if s.Sample != 0 && (!s.DryRun || s.Sample < 0) {
		p.addf("sample", s.Sample, "goes with a dry run, and is a number of ids")
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
	More bool             `json:"more,omitempty" doc:"The filter may find more; call again with next as the cursor"`
	Next string           `json:"next,omitempty" doc:"Cursor to go on with"`
	// Count is what a dry run with a sample would be done to, counted no
	// further than its cap.
	Count *Counted `json:"count,omitempty" doc:"Of a dry run with a sample: how many jobs it would be, as far as they are counted"`
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
	Type  string      `json:"type" enum:"job,change,check" doc:"job: a job's row changed; change: somebody changed a definition; check: a monitor was judged, which the node alone tells that did it"`
	At    time.Time   `json:"at"`
	Job   *Job        `json:"job,omitempty"`
	Edit  *Audit      `json:"edit,omitempty"`
	Check *CheckEvent `json:"check,omitempty"`
}

// CheckEvent is a monitor that was judged: by a check that ended, or by one
// that did not come.
type CheckEvent struct {
	Namespace string       `json:"namespace"`
	Monitor   string       `json:"monitor"`
	Outcome   CheckOutcome `json:"outcome,omitempty" doc:"Of the check; empty when none came"`
	Status    Status       `json:"status" doc:"Of the monitor from now on"`
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
