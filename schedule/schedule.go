package schedule

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/task"
)

// Schedule defines when a task runs: at the union of its rules, in its time zone,
// from start to end, at most max_runs times. Without rules it runs only when it
// is triggered.
type Schedule struct {
	Namespace     string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name          string          `json:"name" doc:"Unique in the namespace"`
	Title         string          `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description   string          `json:"description,omitempty"`
	Task          string          `json:"task" doc:"Name of the task, in the same namespace"`
	Rules         []Rule          `json:"rules,omitempty" doc:"When it runs; several are merged; none: only when triggered"`
	Zone          string          `json:"zone,omitempty" doc:"IANA name such as Europe/Sofia; default: UTC"`
	DSTGap        cron.Gap        `json:"dst_gap,omitempty" enum:"run_after,skip" doc:"A fixed time that a clock change removes; default: run_after"`
	DSTFold       cron.Fold       `json:"dst_fold,omitempty" enum:"first,second,both" doc:"A fixed time that a clock change repeats; default: first"`
	Start         time.Time       `json:"start,omitzero" doc:"No run before; default: at once"`
	End           time.Time       `json:"end,omitzero" doc:"No run after; default: never"`
	MaxRuns       int64           `json:"max_runs,omitempty" doc:"Completed after so many; 0: no limit"`
	Jitter        core.Duration   `json:"jitter,omitempty" doc:"Starts are spread over this span, the same way each time"`
	Catchup       Catchup         `json:"catchup,omitempty" enum:"none,latest,all" doc:"Which missed runs are made up for; default: latest"`
	CatchupWindow core.Duration   `json:"catchup_window,omitempty" doc:"Runs missed longer ago are not made up for; default: 1h"`
	CatchupMax    int             `json:"catchup_max,omitempty" doc:"Most runs made up for at once with catchup all, the newest ones; default: 100"`
	Overlap       Overlap         `json:"overlap,omitempty" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow" doc:"When the run before has not ended; default: skip"`
	BufferMax     int             `json:"buffer_max,omitempty" doc:"Most waiting runs with overlap buffer_all; default: 100"`
	Blackout      []string        `json:"blackout,omitempty" doc:"Calendars during which it does not run"`
	Within        []string        `json:"within,omitempty" doc:"It runs only during these calendars"`
	OnBlackout    OnBlackout      `json:"on_blackout,omitempty" enum:"skip,next_open" doc:"A run on which a calendar says no: skipped, or moved to when the calendars let it; default: skip"`
	Input         json.RawMessage `json:"input,omitempty" doc:"JSON for its jobs; default: the task's input"`

	ID           int64     `json:"id,omitempty" readOnly:"true"`
	State        State     `json:"state,omitempty" readOnly:"true" doc:"active, paused or completed"`
	PausedAt     time.Time `json:"paused_at,omitzero" readOnly:"true"`
	PausedBy     string    `json:"paused_by,omitempty" readOnly:"true"`
	PausedReason string    `json:"paused_reason,omitempty" readOnly:"true"`
	Generation   int64     `json:"generation,omitempty" readOnly:"true" doc:"Grows with every pause and every edit of its times"`
	NextAt       time.Time `json:"next_at,omitzero" readOnly:"true" doc:"When it fires next"`
	NextRunAt    time.Time `json:"next_run_at,omitzero" readOnly:"true" doc:"With calendars: when it runs next, which is later than next_at if they keep that out; empty: not as far as is known"`
	HighWater    time.Time `json:"high_water,omitzero" readOnly:"true" doc:"No nominal time at or before it is ever fired"`
	FinishAt     time.Time `json:"finish_at,omitzero" readOnly:"true" doc:"Next time of a rule that counts from the finish; empty while a run is under way"`
	Runs         int64     `json:"runs,omitempty" readOnly:"true" doc:"Occurrences that became jobs"`
	CreatedAt    time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt    time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// RunsAt returns when the schedule runs next: NextAt, or the time to which its
// calendars move it.
func (s Schedule) RunsAt() time.Time {
	if len(s.Blackout)+len(s.Within) == 0 {
		return s.NextAt
	}
	return s.NextRunAt
}

// State is the state of a schedule.
type State string

// The states. A completed schedule has reached its end, its max runs or its last
// nominal time.
const (
	Active    State = "active"
	Paused    State = "paused"
	Completed State = "completed"
)

// Catchup is the policy for missed runs: those that no node fired in time,
// whatever the cause.
type Catchup string

// The policies. Under CatchupNone, a run counts as missed if it is later than
// [core.OnTime].
const (
	CatchupNone   Catchup = "none"
	CatchupLatest Catchup = "latest"
	CatchupAll    Catchup = "all"
)

// Overlap is the policy for a run whose predecessor has not ended.
type Overlap string

// The policies. Buffered runs start when the previous run ends. cancel_other
// waits for the end of the other run, terminate_other does not.
const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
	OverlapAllow          Overlap = "allow"
)

const DefaultCatchupWindow = core.Duration(time.Hour)

const DefaultCatchupMax = 100

const DefaultBufferMax = 100

const MaxRules = 32

const MaxInstants = 1000

// WithDefaults returns a copy with the defaults of empty fields.
func (s Schedule) WithDefaults() Schedule {
	s.Namespace = core.Or(s.Namespace, core.DefaultNamespace)
	s.Zone = core.Or(s.Zone, "UTC")
	s.DSTGap = core.Or(s.DSTGap, cron.GapRunAfter)
	s.DSTFold = core.Or(s.DSTFold, cron.FoldFirst)
	s.Catchup = core.Or(s.Catchup, CatchupLatest)
	s.CatchupWindow = core.Or(s.CatchupWindow, DefaultCatchupWindow)
	s.CatchupMax = core.Or(s.CatchupMax, DefaultCatchupMax)
	s.Overlap = core.Or(s.Overlap, OverlapSkip)
	s.BufferMax = core.Or(s.BufferMax, DefaultBufferMax)
	if len(s.Blackout)+len(s.Within) > 0 {
		s.OnBlackout = core.Or(s.OnBlackout, BlackoutSkip)
	}
	s.Start, s.End = core.Micro(s.Start), core.Micro(s.End)
	s.Rules = RuleDefaults(s.Rules)
	return s
}

// RuleDefaults returns rules with the defaults of empty fields.
func RuleDefaults(given []Rule) []Rule {
	rules := make([]Rule, len(given))
	for i, r := range given {
		if r.Every != 0 {
			r.Anchor = core.Or(r.Anchor, AnchorPlan)
		}
		r.At = slices.Clone(r.At) // the caller keeps its slice
		for j := range r.At {
			r.At[j] = core.Micro(r.At[j])
		}
		rules[i] = r
	}
	return rules
}

// Validate returns the problems of a schedule that has its defaults as one error,
// or nil. A schedule that can never run after now is refused. With a zero now, the
// time is ignored: use that for a saved schedule that does not change.
func (s Schedule) Validate(now time.Time) error {
	var p core.Problems
	core.CheckName(&p, "name", s.Name)
	core.CheckName(&p, "namespace", s.Namespace)
	core.CheckName(&p, "task", s.Task)
	core.CheckInput(&p, "input", s.Input)
	title.Check(&p, "title", s.Title)
	if len(s.Description) > core.MaxDescription {
		p.Addf("description", s.Description, "has more than %d bytes", core.MaxDescription)
	}
	s.validatePolicy(&p)
	s.validateSpan(&p, now)
	if len(s.Rules) > MaxRules {
		p.AtMost("rules", len(s.Rules), MaxRules)
		return p.Err(fmt.Sprintf("schedule %q", s.Name))
	}
	readable := s // a bad choice was reported above and need not be reported again for each rule
	if readable.DSTGap != cron.GapSkip {
		readable.DSTGap = cron.GapRunAfter
	}
	if readable.DSTFold != cron.FoldSecond && readable.DSTFold != cron.FoldBoth {
		readable.DSTFold = cron.FoldFirst
	}
	plan, err := readable.PlanFor(&p, now)
	if err == nil && len(p) == 0 && len(s.Rules) > 0 && !plan.everAfter(now, s) {
		p.Add("rules", s.ruleText(), "never match after "+core.Stamp(now),
			"check dates, years, start and end")
	}
	return p.Err(fmt.Sprintf("schedule %q", s.Name))
}

func (s Schedule) validatePolicy(p *core.Problems) {
	switch s.Catchup {
	case CatchupNone, CatchupLatest, CatchupAll:
	default:
		p.Add("catchup", string(s.Catchup), "is not a catch-up", "one of none, latest, all")
	}
	switch s.Overlap {
	case OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther, OverlapAllow:
	default:
		p.Add("overlap", string(s.Overlap), "is not an overlap policy",
			"one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow")
	}
	if s.DSTGap != cron.GapRunAfter && s.DSTGap != cron.GapSkip {
		p.Add("dst_gap", string(s.DSTGap), "is not a choice", "one of run_after, skip")
	}
	if s.DSTFold != cron.FoldFirst && s.DSTFold != cron.FoldSecond && s.DSTFold != cron.FoldBoth {
		p.Add("dst_fold", string(s.DSTFold), "is not a choice", "one of first, second, both")
	}
	if s.OnBlackout != "" && s.OnBlackout != BlackoutSkip && s.OnBlackout != BlackoutNextOpen {
		p.Add("on_blackout", string(s.OnBlackout), "is not a choice", "one of skip, next_open")
	}
	if len(s.Blackout)+len(s.Within) > MaxCalendars {
		p.Addf("blackout", fmt.Sprint(len(s.Blackout)+len(s.Within), " entries"), "and within have more than %d entries together", MaxCalendars)
	}
	if s.CatchupWindow < core.Duration(core.OnTime) || s.CatchupWindow > task.MaxEvery {
		p.Addf("catchup_window", s.CatchupWindow, "is outside %s to %s", core.OnTime, task.MaxEvery)
	}
	if s.CatchupMax < 1 || s.CatchupMax > 1000 {
		p.Addf("catchup_max", s.CatchupMax, "is outside 1 to 1000")
	}
	if s.BufferMax < 1 || s.BufferMax > 1000 {
		p.Addf("buffer_max", s.BufferMax, "is outside 1 to 1000")
	}
	if s.MaxRuns < 0 {
		p.Addf("max_runs", s.MaxRuns, "is negative")
	}
	if s.Jitter < 0 || s.Jitter > core.Duration(24*time.Hour) {
		p.Addf("jitter", s.Jitter, "is outside 0s to 24h")
	}
}

func (s Schedule) validateSpan(p *core.Problems, now time.Time) {
	if !s.End.IsZero() && !s.Start.IsZero() && s.End.Before(s.Start) {
		p.Add("end", s.End.Format(time.RFC3339), "is before start", "")
	}
	if !s.End.IsZero() && !s.End.After(now) {
		p.Add("end", s.End.Format(time.RFC3339), "has passed", "")
	}
}

func (s Schedule) ruleText() string {
	texts := make([]string, len(s.Rules))
	for i, r := range s.Rules {
		texts[i] = r.String()
	}
	return strings.Join(texts, " + ")
}

// RuleText returns all rules of the schedule in one line, or "manual".
func (s Schedule) RuleText() string {
	if len(s.Rules) == 0 {
		return "manual"
	}
	return s.ruleText()
}

// SameTimes reports whether two versions of a schedule have the same nominal
// times. An edit that keeps them does not change the cadence and withdraws no
// jobs.
func (s Schedule) SameTimes(o Schedule) bool {
	if len(s.Rules) != len(o.Rules) || s.Zone != o.Zone || s.DSTGap != o.DSTGap || s.DSTFold != o.DSTFold ||
		!s.Start.Equal(o.Start) || !s.End.Equal(o.End) {
		return false
	}
	for i := range s.Rules {
		if !s.Rules[i].same(o.Rules[i]) {
			return false
		}
	}
	return true
}

// Version returns the version of the schedule's definition. A pause does not change it.
func (s Schedule) Version() string { return core.Version(0, s.UpdatedAt) }

// Version returns the version of the calendar.
func (c Calendar) Version() string { return core.Version(c.Generation, c.UpdatedAt) }
