package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// Coming is a future nominal time, as far as it is known now.
type Coming struct {
	Namespace string      `json:"namespace,omitempty"`
	Schedule  string      `json:"schedule,omitempty"`
	Nominal   time.Time   `json:"nominal" doc:"The planned time"`
	DueAt     time.Time   `json:"due_at,omitzero" doc:"With jitter, or moved by a calendar; empty when it will be skipped"`
	Local     string      `json:"local" doc:"The nominal time in the schedule's zone"`
	Notes     []string    `json:"notes,omitempty" doc:"What daylight saving, a calendar or the jitter do to it"`
	Skipped   core.Reason `json:"skipped,omitempty" doc:"Why it will not run"`
}

// Coming returns up to n nominal times after from with their outcomes, as far as
// these do not depend on the duration of runs.
func (s Schedule) Coming(plan Plan, from time.Time, n int) []Coming {
	var out []Coming
	left := s.MaxRuns - s.Runs
	times := s.Upcoming(plan, from, n)
	if s.FinishAt.After(from) && n > 0 && !slices.ContainsFunc(times, s.FinishAt.Equal) {
		times = append(times, s.FinishAt)
		slices.SortFunc(times, time.Time.Compare)
		times = times[:min(len(times), n)]
	}
	for _, t := range times {
		c := s.ComingAt(plan, t)
		if s.MaxRuns > 0 && c.Skipped == "" {
			if left--; left < 0 {
				c.Skipped, c.DueAt = ReasonMaxRuns, time.Time{}
			}
		}
		out = append(out, c)
	}
	return out
}

// maxClosedSpans is the most excluded spans that are passed over in search of a
// time that runs.
const maxClosedSpans = 2000

// ComingRuns returns up to n nominal times after from that run. Times that
// calendars or max_runs skip are left out.
func (s Schedule) ComingRuns(plan Plan, from time.Time, n int) []Coming {
	var out []Coming
	for t, closed := from, 0; len(out) < n && closed < maxClosedSpans; {
		if s.MaxRuns > 0 && s.Runs+int64(len(out)) >= s.MaxRuns {
			break
		}
		at := plan.next(s, t)
		if s.FinishAt.After(t) {
			at = core.Sooner(at, s.FinishAt)
		}
		if at.IsZero() {
			break
		}
		t = at
		c := s.ComingAt(plan, at)
		if c.Skipped == "" {
			out = append(out, c)
			continue
		}
		closed++
		open := plan.gate.NextOpen(at)
		if open.IsZero() {
			break
		}
		t = open.Add(-time.Microsecond)
	}
	return out
}

// NextRun returns NextAt, or the next time that the calendars allow if they
// exclude NextAt. It is zero if no run is known.
func (s Schedule) NextRun(plan Plan) time.Time {
	t := s.NextAt
	for range maxClosedSpans {
		if t.IsZero() {
			return t
		}
		if _, closed := plan.gate.closed(t); !closed {
			return t
		}
		open := plan.gate.NextOpen(t)
		if open.IsZero() || s.OnBlackout == BlackoutNextOpen {
			return open
		}
		planned := plan.next(s, open.Add(-time.Microsecond))
		if plan.Finish > 0 { // a skipped run counts as its own finish
			steps := (open.Sub(t) + plan.Finish - 1) / plan.Finish
			if at := t.Add(steps * plan.Finish); s.End.IsZero() || !at.After(s.End) {
				planned = core.Sooner(planned, at)
			}
		}
		t = planned
	}
	return time.Time{}
}

// ComingAt returns the nominal time t with its outcome.
func (s Schedule) ComingAt(plan Plan, t time.Time) Coming {
	c := Coming{Namespace: s.Namespace, Schedule: s.Name, Nominal: t, Local: s.Local(t)}
	d := newDecider(s, plan, Facts{}, t)
	if t.Equal(s.FinishAt) {
		c.DueAt, c.Notes = t, []string{"counted from the finish of the run before"}
		o := Occurrence{Nominal: t, DueAt: t}
		if d.blackout(&o) {
			c.DueAt, c.Skipped = time.Time{}, ReasonBlackout
		} else {
			c.DueAt = o.DueAt
		}
		if o.Note != "" {
			c.Notes = append(c.Notes, o.Note)
		}
		return c
	}
	o := Occurrence{Nominal: t, DueAt: t.Add(d.jitter(t))}
	if note := plan.note(t); note != "" {
		c.Notes = append(c.Notes, note)
	}
	if shift := o.DueAt.Sub(t); shift > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("starts %s later by its jitter", core.Duration(shift.Round(time.Millisecond))))
	}
	if d.blackout(&o) {
		c.Skipped = ReasonBlackout
	} else {
		c.DueAt = o.DueAt
	}
	if o.Note != "" {
		c.Notes = append(c.Notes, o.Note)
	}
	return c
}

// Local formats an instant in the zone of the schedule.
func (s Schedule) Local(t time.Time) string {
	zone, err := cron.LoadZone(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("Mon ") + core.StampIn(t, zone)
}

// noter is a rule that can describe the effect of daylight saving on one of its times.
type noter interface{ Note(t time.Time) string }

// note returns the effect of daylight saving on a nominal time, by any of the rules.
func (plan Plan) note(t time.Time) string {
	for _, r := range plan.rules {
		if n, ok := r.times.(noter); ok && isOne(r.times, t) {
			if text := n.Note(t); text != "" {
				return text
			}
		}
	}
	return ""
}

// isOne reports whether t is one of a rule's times.
func isOne(r cron.Times, t time.Time) bool { return r.Next(t.Add(-time.Nanosecond)).Equal(t) }

// Explain describes in sentences when a schedule runs.
func (s Schedule) Explain(plan Plan) []string {
	var out []string
	for _, r := range plan.rules {
		text := r.String()
		if e, ok := r.times.(interface{ Explain() string }); ok {
			text = e.Explain()
		} else if a, ok := r.times.(*cron.At); ok {
			text = explainInstants(a.Times())
		}
		out = append(out, text)
	}
	if plan.Finish > 0 {
		out = append(out, fmt.Sprintf("%s after the last run ended", core.Duration(plan.Finish)))
	}
	if len(out) == 0 {
		out = append(out, "only when triggered")
	}
	return append(out, s.explainPolicy()...)
}

func explainInstants(times []time.Time) string {
	if len(times) == 1 {
		return "once, at " + core.Stamp(times[0])
	}
	return fmt.Sprintf("at %d instants, from %s to %s", len(times), core.Stamp(times[0]), core.Stamp(times[len(times)-1]))
}

func (s Schedule) explainPolicy() []string {
	out := []string{"times are read in " + s.Zone}
	if !s.Start.IsZero() {
		out = append(out, "not before "+core.Stamp(s.Start))
	}
	if !s.End.IsZero() {
		out = append(out, "not after "+core.Stamp(s.End))
	}
	if s.MaxRuns > 0 {
		out = append(out, fmt.Sprintf("at most %d times, of which %d are used", s.MaxRuns, s.Runs))
	}
	if s.Jitter > 0 {
		out = append(out, fmt.Sprintf("each start is spread over %s, the same way each time", s.Jitter))
	}
	for _, c := range s.Blackout {
		out = append(out, "not in the times of calendar "+c)
	}
	for _, c := range s.Within {
		out = append(out, "only in the times of calendar "+c)
	}
	out = append(out, "if the previous run is still going: "+string(s.Overlap), s.catchupText())
	if trap := s.CatchupTrap(); trap != "" {
		out = append(out, trap)
	}
	return out
}

// CatchupTrap describes two settings that together catch up fewer runs than one of
// them asks for, or returns "".
func (s Schedule) CatchupTrap() string {
	if s.Catchup != CatchupAll || s.Overlap != OverlapSkip {
		return ""
	}
	return "catch-up all with overlap skip makes up for the oldest missed run alone: the others overlap it and are skipped"
}

// catchupText describes which missed runs are caught up.
func (s Schedule) catchupText() string {
	switch s.Catchup {
	case CatchupNone:
		return "missed runs are not made up"
	case CatchupAll:
		return fmt.Sprintf("if runs were missed, up to %d are made up (within %s)", s.CatchupMax, s.CatchupWindow)
	}
	return fmt.Sprintf("if runs were missed, only the latest is made up (within %s)", s.CatchupWindow)
}

// WhyAt reports whether t is a nominal time of the schedule, and why, by each of
// its rules and calendars.
func (s Schedule) WhyAt(plan Plan, t time.Time) (is bool, why []string) {
	if len(s.Rules) == 0 {
		return false, []string{"no: it runs only when triggered"}
	}
	for _, r := range plan.rules {
		text := r.String()
		one := isOne(r.times, t)
		is = is || one
		switch e := r.times.(type) {
		case interface{ Why(time.Time) string }:
			text += ": " + e.Why(t)
		default:
			text += map[bool]string{true: ": yes", false: ": no"}[one]
		}
		why = append(why, text)
	}
	if plan.Finish > 0 {
		text := fmt.Sprintf("every %s after finish: ", core.Duration(plan.Finish))
		if t.Equal(s.FinishAt) {
			is, why = true, append(why, text+"yes")
		} else {
			why = append(why, text+"no: only the next of its times is known, and that from the end of the run before")
		}
	}
	if !s.Start.IsZero() && t.Before(s.Start) {
		is, why = false, append(why, "no: it is before the start of the schedule")
	}
	if !s.End.IsZero() && t.After(s.End) {
		is, why = false, append(why, "no: it is after the end of the schedule")
	}
	if text, closed := plan.gate.closed(t); closed {
		o := Occurrence{Nominal: t, DueAt: t}
		if is && !newDecider(s, plan, Facts{}, t).blackout(&o) {
			return is, append(why, "yes, and moved to "+s.Local(o.DueAt)+": "+text)
		}
		is, why = false, append(why, "no: "+text)
	}
	return is, why
}

// Shift is one line of the difference between two versions of a schedule.
type Shift struct {
	Nominal time.Time `json:"nominal"`
	Change  string    `json:"change" enum:"+,-,=" doc:"+ runs only after the edit, - only before, = in both"`
}

// DiffTimes compares the next n nominal times of two versions of a schedule, as
// far as both lists reach. The first time of each is always included.
func DiffTimes(before Schedule, beforePlan Plan, after Schedule, afterPlan Plan, from time.Time, n int) []Shift {
	old, fresh := before.Upcoming(beforePlan, from, n), after.Upcoming(afterPlan, from, n)
	var horizon time.Time // a full list may have further times
	for _, list := range [][]time.Time{old, fresh} {
		if len(list) == n && n > 0 {
			horizon = core.Sooner(horizon, list[n-1])
		}
	}
	all := slices.Concat(old, fresh)
	slices.SortFunc(all, time.Time.Compare)
	all = slices.CompactFunc(all, time.Time.Equal)
	var out []Shift
	for _, t := range all {
		first := len(old) > 0 && t.Equal(old[0]) || len(fresh) > 0 && t.Equal(fresh[0])
		if !first && !horizon.IsZero() && t.After(horizon) {
			continue
		}
		change := "="
		if !beforePlan.has(before, t) {
			change = "+"
		} else if !afterPlan.has(after, t) {
			change = "-"
		}
		out = append(out, Shift{t, change})
	}
	return out
}

// has reports whether t is a planned nominal time.
func (plan Plan) has(s Schedule, t time.Time) bool {
	return plan.next(s, t.Add(-time.Microsecond)).Equal(t)
}
