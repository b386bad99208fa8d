package schedule

import (
	"cmp"
	"time"

	"github.com/belfry-run/belfry/core"
)

// LookQuery asks for a preview of a saved schedule by its name, of an unsaved
// draft, or of both to compare them before an edit.
type LookQuery struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty" doc:"A saved schedule"`
	Draft     *Schedule `json:"draft,omitempty" doc:"A schedule that is not saved; beside a name: the edit to compare with"`
	From      time.Time `json:"from,omitzero" doc:"From this time on; default: after now"`
	N         int       `json:"n,omitempty" doc:"How many nominal times; default: 10; at most 1000"`
	RunsOnly  bool      `json:"runs_only,omitempty" doc:"List only times that run, and leave out those that calendars or max_runs skip"`
	At        time.Time `json:"at,omitzero" doc:"An instant to explain: is it one of its times, and why or why not"`
}

// MaxLook is the most nominal times of one preview.
const MaxLook = 1000

// Bound returns how many nominal times to list.
func (q LookQuery) Bound() int { return min(max(core.Or(q.N, 10), 1), MaxLook) }

// Validate returns the problems of a query as one error, or nil.
func (q LookQuery) Validate() error {
	var p core.Problems
	if q.Name == "" && q.Draft == nil {
		p.Add("name", "", "neither a name nor a draft is given", "name a saved schedule, or give a draft with rules")
	}
	if q.N < 0 || q.N > MaxLook {
		p.Addf("n", q.N, "is outside 1 to %d", MaxLook)
	}
	return p.Err("look")
}

// Drafted returns the draft for the preview, with the name and the run count of the saved schedule that it would change.
func (q LookQuery) Drafted(runs int64) Schedule {
	d := *q.Draft
	d.Namespace, d.Name, d.Task = q.Namespace, cmp.Or(q.Name, d.Name, "draft"), cmp.Or(d.Task, "draft")
	if q.Name != "" { // phases depend on the name; an edit keeps the run count
		d.Runs = runs
	}
	return d.WithDefaults()
}

// LookAtDraft answers a query about a draft that names no calendar. It needs no store: it uses the time zone data of this
// process, whose version is zones.
func LookAtDraft(q LookQuery, now time.Time, zones string) (Look, error) {
	if err := q.Validate(); err != nil {
		return Look{}, err
	}
	d := q.Drafted(0)
	if err := d.Validate(now); err != nil {
		return Look{}, err
	}
	plan, err := d.Plan()
	if err != nil {
		return Look{}, err
	}
	return d.Look(plan, nil, Plan{}, q, now, zones), nil
}

// Look is the answer to a [LookQuery].
type Look struct {
	Schedule Schedule `json:"schedule"`
	Explain  []string `json:"explain" doc:"When it runs, in plain sentences"`
	Coming   []Coming `json:"coming"`
	Is       *bool    `json:"is,omitempty" doc:"Whether the asked instant is one of its times"`
	Why      []string `json:"why,omitempty" doc:"Why it is, or is not"`
	Diff     []Shift  `json:"diff,omitempty" doc:"What an edit changes in the next times"`
	Zones    string   `json:"zones" doc:"Version of the time zone data in use"`
}

// Look answers a query about s. before is the saved version to compare with, or
// nil.
func (s Schedule) Look(plan Plan, before *Schedule, beforePlan Plan, q LookQuery, now time.Time, zones string) Look {
	from := now
	if !q.From.IsZero() {
		from = q.From.Add(-time.Microsecond) // include From itself
	}
	if s.HighWater.After(now) { // the clock was set back
		from = core.Later(from, s.HighWater)
	}
	l := Look{Schedule: s, Explain: s.Explain(plan), Coming: s.Coming(plan, from, q.Bound()), Zones: zones}
	if q.RunsOnly {
		l.Coming = s.ComingRuns(plan, from, q.Bound())
	}
	if l.Coming == nil {
		l.Coming = []Coming{}
	}
	if !q.At.IsZero() {
		is, why := s.WhyAt(plan, q.At)
		l.Is, l.Why = &is, why
	}
	if before != nil {
		l.Diff = DiffTimes(*before, beforePlan, s, plan, from, q.Bound())
	}
	return l
}

// Ahead asks for the upcoming runs of all schedules of a namespace within a span.
type Ahead struct {
	Namespace string        // * for all
	From      time.Time     // start of the span, inclusive; default: now, exclusive
	Within    time.Duration // default: 24h; at most 31 days
	Limit     int           // most entries; default: 200; at most 10,000

	// Of a forecast:
	Zone   string // time zone of the hours; default: UTC
	ByHour bool   // leave out all minutes but the busiest
	Checks bool   // include checks of monitors
}

// Limits of looking ahead.
const (
	MaxAhead         = 31 * 24 * time.Hour
	MaxAheadRows     = 10_000
	DefaultAheadRows = 200
)

// WithDefaults returns a copy with the defaults of empty fields.
func (a Ahead) WithDefaults(now time.Time) Ahead {
	a.Namespace = core.Or(a.Namespace, core.DefaultNamespace)
	if a.From.IsZero() {
		a.From = now
	}
	a.Within = core.Or(a.Within, 24*time.Hour)
	a.Limit = core.Or(a.Limit, DefaultAheadRows)
	return a
}

// Span returns the query with the span as a half-open interval: times after From
// and up to its end. So adjacent spans share no times.
func (a Ahead) Span(now time.Time) Ahead {
	given := !a.From.IsZero()
	if a = a.WithDefaults(now); given {
		a.From = a.From.Add(-time.Microsecond)
	}
	return a
}

// Validate returns the problems of the query as one error, or nil.
func (a Ahead) Validate() error {
	var p core.Problems
	if a.Within <= 0 || a.Within > MaxAhead {
		p.Addf("within", core.Duration(a.Within), "is outside 0s to %s", core.Duration(MaxAhead))
	}
	if a.Limit < 1 || a.Limit > MaxAheadRows {
		p.Addf("limit", a.Limit, "is outside 1 to %d", MaxAheadRows)
	}
	return p.Err("look ahead")
}
