package belfry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// Schedule says when a task runs: the union of its rules, read in its zone,
// from start to end, at most max_runs times. Without rules it runs when it is
// triggered and never by itself.
type Schedule struct {
	Namespace     string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name          string          `json:"name" doc:"Unique in the namespace"`
	Description   string          `json:"description,omitempty"`
	Task          string          `json:"task" doc:"Name of the task, in the same namespace"`
	Rules         []Rule          `json:"rules,omitempty" doc:"When it runs; several are merged; none: only when triggered"`
	Zone          string          `json:"zone,omitempty" doc:"IANA name such as Europe/Sofia; default: UTC"`
	DSTGap        cron.Gap        `json:"dst_gap,omitempty" enum:"run_after,skip" doc:"A fixed time that a clock change removes; default: run_after"`
	DSTFold       cron.Fold       `json:"dst_fold,omitempty" enum:"first,second,both" doc:"A fixed time that a clock change repeats; default: first"`
	Start         time.Time       `json:"start,omitzero" doc:"No run before; default: at once"`
	End           time.Time       `json:"end,omitzero" doc:"No run after; default: never"`
	MaxRuns       int64           `json:"max_runs,omitempty" doc:"Completed after so many; 0: no limit"`
	Jitter        Duration        `json:"jitter,omitempty" doc:"Starts are spread over this span, the same way each time"`
	Catchup       Catchup         `json:"catchup,omitempty" enum:"none,latest,all" doc:"Which missed runs are made up for; default: latest"`
	CatchupWindow Duration        `json:"catchup_window,omitempty" doc:"Runs missed longer ago are not made up for; default: 1h"`
	CatchupMax    int             `json:"catchup_max,omitempty" doc:"Most runs made up for at once with catchup all, the newest ones; default: 100"`
	Overlap       Overlap         `json:"overlap,omitempty" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow" doc:"When the run before has not ended; default: skip"`
	BufferMax     int             `json:"buffer_max,omitempty" doc:"Most waiting runs with overlap buffer_all; default: 100"`
	Blackout      []string        `json:"blackout,omitempty" doc:"Calendars in whose times it does not run"`
	Within        []string        `json:"within,omitempty" doc:"Calendars in whose times alone it runs"`
	OnBlackout    OnBlackout      `json:"on_blackout,omitempty" enum:"skip,next_open" doc:"A run on which a calendar says no: skipped, or moved to when the calendars let it; default: skip"`
	Input         json.RawMessage `json:"input,omitempty" doc:"JSON for its jobs; default: the task's input"`

	ID           int64         `json:"id,omitempty" readOnly:"true"`
	State        ScheduleState `json:"state,omitempty" readOnly:"true" doc:"active, paused or completed"`
	PausedAt     time.Time     `json:"paused_at,omitzero" readOnly:"true"`
	PausedBy     string        `json:"paused_by,omitempty" readOnly:"true"`
	PausedReason string        `json:"paused_reason,omitempty" readOnly:"true"`
	Generation   int64         `json:"generation,omitempty" readOnly:"true" doc:"Grows with every pause and every edit of its times"`
	NextAt       time.Time     `json:"next_at,omitzero" readOnly:"true" doc:"When it fires next"`
	NextRunAt    time.Time     `json:"next_run_at,omitzero" readOnly:"true" doc:"With calendars: when it runs next, which is later than next_at if they keep that out; empty: not as far as is known"`
	HighWater    time.Time     `json:"high_water,omitzero" readOnly:"true" doc:"No nominal time at or before it is ever fired"`
	FinishAt     time.Time     `json:"finish_at,omitzero" readOnly:"true" doc:"Next time of a rule that counts from the finish; empty while a run is under way"`
	Runs         int64         `json:"runs,omitempty" readOnly:"true" doc:"Occurrences that became jobs"`
	CreatedAt    time.Time     `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt    time.Time     `json:"updated_at,omitzero" readOnly:"true"`
}

// RunsAt is when the schedule runs next: NextAt, or what its calendars make of
// it.
func (s Schedule) RunsAt() time.Time {
	if len(s.Blackout)+len(s.Within) == 0 {
		return s.NextAt
	}
	return s.NextRunAt
}

// ScheduleState is whether a schedule fires.
type ScheduleState string

// A completed schedule has reached its end, its max runs or its last instant.
const (
	ScheduleActive    ScheduleState = "active"
	SchedulePaused    ScheduleState = "paused"
	ScheduleCompleted ScheduleState = "completed"
)

// Catchup says which runs are made up for that were missed because nothing was
// there to fire them, whatever the cause.
type Catchup string

// A run counts as missed under CatchupNone when it is later than [OnTime].
const (
	CatchupNone   Catchup = "none"
	CatchupLatest Catchup = "latest"
	CatchupAll    Catchup = "all"
)

// OnTime is how late a run may be fired and still count as on time, for a
// schedule that wants no catch-up. It must stay above the time between two
// looks of a busy node; one second, as another scheduler has it, is known to
// drop runs.
const OnTime = 10 * time.Second

// Overlap says what happens to a run whose predecessor has not ended.
type Overlap string

// The policies. Buffered runs start when the run before them ends;
// cancel_other waits for the other to end, terminate_other does not.
const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
	OverlapAllow          Overlap = "allow"
)

// Defaults and limits of a schedule.
const (
	DefaultCatchupWindow = Duration(time.Hour)
	DefaultCatchupMax    = 100
	DefaultBufferMax     = 100
	MaxRules             = 32
	MaxInstants          = 1000
	MinEvery             = Duration(time.Second)
	MaxEvery             = Duration(366 * 24 * time.Hour)
)

// WithDefaults fills what was left out.
func (s Schedule) WithDefaults() Schedule {
	s.Namespace = or(s.Namespace, DefaultNamespace)
	s.Zone = or(s.Zone, "UTC")
	s.DSTGap = or(s.DSTGap, cron.GapRunAfter)
	s.DSTFold = or(s.DSTFold, cron.FoldFirst)
	s.Catchup = or(s.Catchup, CatchupLatest)
	s.CatchupWindow = or(s.CatchupWindow, DefaultCatchupWindow)
	s.CatchupMax = or(s.CatchupMax, DefaultCatchupMax)
	s.Overlap = or(s.Overlap, OverlapSkip)
	s.BufferMax = or(s.BufferMax, DefaultBufferMax)
	if len(s.Blackout)+len(s.Within) > 0 {
		s.OnBlackout = or(s.OnBlackout, BlackoutSkip)
	}
	s.Start, s.End = Micro(s.Start), Micro(s.End)
	s.Rules = ruleDefaults(s.Rules)
	return s
}

func ruleDefaults(given []Rule) []Rule {
	rules := make([]Rule, len(given))
	for i, r := range given {
		if r.Every != 0 {
			r.Anchor = or(r.Anchor, AnchorPlan)
		}
		r.At = slices.Clone(r.At) // the caller keeps its own
		for j := range r.At {
			r.At[j] = Micro(r.At[j])
		}
		rules[i] = r
	}
	return rules
}

// Micro is the instant as Belfry keeps it: UTC, whole microseconds, no
// monotonic reading.
func Micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Validate says everything that is wrong with a schedule that has its
// defaults, as seen at now: one that can never run again is refused. A zero
// now judges it without regard to the time, as what is saved already and does
// not change must be.
func (s Schedule) Validate(now time.Time) error {
	var p problems
	checkName(&p, "name", s.Name)
	checkName(&p, "namespace", s.Namespace)
	checkName(&p, "task", s.Task)
	checkInput(&p, "input", s.Input)
	if len(s.Description) > MaxDescription {
		p.addf("description", len(s.Description), "has more than %d bytes", MaxDescription)
	}
	s.validatePolicy(&p)
	s.validateSpan(&p, now)
	if len(s.Rules) > MaxRules {
		p.addf("rules", len(s.Rules), "has more than %d entries", MaxRules)
		return p.err(fmt.Sprintf("schedule %q", s.Name))
	}
	readable := s // a bad choice was told above, and is not told again for every rule
	if readable.DSTGap != cron.GapSkip {
		readable.DSTGap = cron.GapRunAfter
	}
	if readable.DSTFold != cron.FoldSecond && readable.DSTFold != cron.FoldBoth {
		readable.DSTFold = cron.FoldFirst
	}
	plan, err := readable.plan(&p, now)
	if err == nil && len(p) == 0 && len(s.Rules) > 0 && !plan.everAfter(now, s) {
		p.add("rules", s.ruleText(), "never match after "+now.UTC().Format(time.RFC3339),
			"check dates, years, start and end")
	}
	return p.err(fmt.Sprintf("schedule %q", s.Name))
}

func (s Schedule) validatePolicy(p *problems) {
	switch s.Catchup {
	case CatchupNone, CatchupLatest, CatchupAll:
	default:
		p.add("catchup", string(s.Catchup), "is not a catch-up", "one of none, latest, all")
	}
	switch s.Overlap {
	case OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther, OverlapAllow:
	default:
		p.add("overlap", string(s.Overlap), "is not an overlap policy",
			"one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow")
	}
	if s.DSTGap != cron.GapRunAfter && s.DSTGap != cron.GapSkip {
		p.add("dst_gap", string(s.DSTGap), "is not a choice", "one of run_after, skip")
	}
	if s.DSTFold != cron.FoldFirst && s.DSTFold != cron.FoldSecond && s.DSTFold != cron.FoldBoth {
		p.add("dst_fold", string(s.DSTFold), "is not a choice", "one of first, second, both")
	}
	if s.OnBlackout != "" && s.OnBlackout != BlackoutSkip && s.OnBlackout != BlackoutNextOpen {
		p.add("on_blackout", string(s.OnBlackout), "is not a choice", "one of skip, next_open")
	}
	if len(s.Blackout)+len(s.Within) > MaxCalendars {
		p.addf("blackout", len(s.Blackout)+len(s.Within), "and within have more than %d entries together", MaxCalendars)
	}
	if s.CatchupWindow < Duration(OnTime) || s.CatchupWindow > MaxEvery {
		p.addf("catchup_window", s.CatchupWindow, "is outside %s to %s", OnTime, MaxEvery)
	}
	if s.CatchupMax < 1 || s.CatchupMax > 1000 {
		p.addf("catchup_max", s.CatchupMax, "is outside 1 to 1000")
	}
	if s.BufferMax < 1 || s.BufferMax > 1000 {
		p.addf("buffer_max", s.BufferMax, "is outside 1 to 1000")
	}
	if s.MaxRuns < 0 {
		p.addf("max_runs", s.MaxRuns, "is negative")
	}
	if s.Jitter < 0 || s.Jitter > Duration(24*time.Hour) {
		p.addf("jitter", s.Jitter, "is outside 0s to 24h")
	}
}

func (s Schedule) validateSpan(p *problems, now time.Time) {
	if !s.End.IsZero() && !s.Start.IsZero() && s.End.Before(s.Start) {
		p.add("end", s.End.Format(time.RFC3339), "is before start", "")
	}
	if !s.End.IsZero() && !s.End.After(now) {
		p.add("end", s.End.Format(time.RFC3339), "has passed", "")
	}
}

func (s Schedule) ruleText() string {
	texts := make([]string, len(s.Rules))
	for i, r := range s.Rules {
		texts[i] = r.String()
	}
	return strings.Join(texts, " + ")
}

// RuleText is all rules of the schedule in one line, or "manual".
func (s Schedule) RuleText() string {
	if len(s.Rules) == 0 {
		return "manual"
	}
	return s.ruleText()
}

// SameTimes reports whether two versions of a schedule have the same nominal
// times. An edit that keeps them does not move the cadence and withdraws
// nothing.
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
