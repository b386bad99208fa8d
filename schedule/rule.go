package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/task"
)

// Rule is one rule of a schedule. Exactly one field must be set, besides anchor.
type Rule struct {
	Cron    string        `json:"cron,omitempty" doc:"Cron expression, such as 30 2 * * MON-FRI or @daily"`
	RRule   string        `json:"rrule,omitempty" doc:"RFC 5545 recurrence: a pasted iCalendar block, or FREQ=… with the fields below beside it"`
	DTStart string        `json:"dtstart,omitempty" doc:"Begin of the rrule, as 2026-01-31T09:00:00 in the schedule's zone; default: the schedule's start"`
	RDate   []string      `json:"rdate,omitempty" doc:"Times added to the rrule, written like dtstart"`
	ExDate  []string      `json:"exdate,omitempty" doc:"Times taken out of the rrule, written like dtstart"`
	Every   core.Duration `json:"every,omitempty" doc:"Interval, such as 90s"`
	Anchor  Anchor        `json:"anchor,omitempty" enum:"plan,finish" doc:"What every counts from: the plan (fixed rate) or the finish of the run before; default: plan"`
	At      []time.Time   `json:"at,omitempty" doc:"Single instants"`
}

// Anchor is the start of an interval: the plan or the finish of a run.
type Anchor string

// The anchors. A planned interval never drifts; an interval from the finish never
// overlaps.
const (
	AnchorPlan   Anchor = "plan"
	AnchorFinish Anchor = "finish"
)

// String describes the rule for people, as an item of a list.
func (r Rule) String() string {
	switch {
	case r.Cron != "":
		return r.Cron
	case r.RRule != "":
		return r.RRule
	case r.Every != 0 && r.Anchor == AnchorFinish:
		return "every " + r.Every.String() + " after finish"
	case r.Every != 0:
		return "every " + r.Every.String()
	case len(r.At) == 1:
		return "at " + core.Stamp(r.At[0])
	}
	return fmt.Sprintf("at %d instants", len(r.At))
}

// single reports whether exactly one kind of rule is set.
func (r Rule) single() bool {
	if r.RRule == "" && (r.DTStart != "" || len(r.RDate)+len(r.ExDate) > 0) {
		return false
	}
	n := 0
	for _, given := range []bool{r.Cron != "", r.RRule != "", r.Every != 0, len(r.At) > 0} {
		if given {
			n++
		}
	}
	return n == 1
}

// times compiles one rule that does not count from the finish. It adds problems to p.
func (r Rule) times(p *core.Problems, path string, s Schedule, zone *time.Location, after time.Time) cron.Times {
	o := cron.Options{Zone: zone, Gap: s.DSTGap, Fold: s.DSTFold, Seed: s.seed(), Start: s.Start, After: after}
	if r.Anchor != "" && r.Every == 0 {
		p.Add(path+".anchor", string(r.Anchor), "belongs to a rule with every", "")
		return nil
	}
	switch {
	case r.Cron != "":
		t, err := cron.Parse(r.Cron, o)
		if err != nil {
			p.AddCron(path+".cron", r.Cron, err)
			return nil
		}
		return t
	case r.RRule != "":
		text, ok := r.recurrence(p, path)
		if !ok {
			return nil
		}
		t, err := cron.ParseRRule(text, o)
		if err != nil {
			p.AddCron(path+".rrule", r.RRule, err)
			return nil
		}
		return t
	case r.Every != 0:
		return r.every(p, path, s)
	}
	if len(r.At) > MaxInstants {
		p.AtMost(path+".at", len(r.At), MaxInstants)
		return nil
	}
	t, err := cron.NewAt(r.At...)
	if err != nil {
		p.AddCron(path+".at", "", err)
		return nil
	}
	return t
}

// recurrence returns the iCalendar block of a rule, composed from its fields if it
// has any. Local times without a zone are in the zone of the schedule.
func (r Rule) recurrence(p *core.Problems, path string) (block string, ok bool) {
	if r.DTStart == "" && len(r.RDate)+len(r.ExDate) == 0 {
		return r.RRule, true
	}
	if strings.ContainsAny(r.RRule, ":\r\n") {
		p.Add(path+".rrule", r.RRule, "is a whole block", "put dtstart, rdate and exdate into it, or write FREQ=… alone")
		return "", false
	}
	var b strings.Builder
	before := len(*p)
	if r.DTStart != "" {
		b.WriteString("DTSTART:" + icalTime(p, path+".dtstart", r.DTStart) + "\n")
	}
	b.WriteString("RRULE:" + r.RRule + "\n")
	for i, t := range r.RDate {
		b.WriteString("RDATE:" + icalTime(p, fmt.Sprintf("%s.rdate[%d]", path, i), t) + "\n")
	}
	for i, t := range r.ExDate {
		b.WriteString("EXDATE:" + icalTime(p, fmt.Sprintf("%s.exdate[%d]", path, i), t) + "\n")
	}
	return b.String(), len(*p) == before
}

// icalTime formats a time as in RFC 5545, section 3.3.5.
func icalTime(p *core.Problems, field, text string) string {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format("20060102T150405")
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format("20060102T150405Z")
	}
	p.Add(field, text, "is not a time", "write 2026-01-31T09:00:00 for the schedule's zone, or 2026-01-31T09:00:00Z")
	return ""
}

func (r Rule) every(p *core.Problems, path string, s Schedule) cron.Times {
	if !checkEvery(p, path, r) {
		return nil
	}
	anchor, seed := time.Unix(0, 0).UTC(), s.seed()
	if !s.Start.IsZero() {
		anchor, seed = s.Start, "" // with a start, runs begin at it, without a phase
	}
	t, err := cron.NewEvery(r.Every.D(), anchor, seed)
	if err != nil {
		p.AddCron(path+".every", r.Every.String(), err)
		return nil
	}
	return t
}

func (r Rule) same(o Rule) bool {
	if r.Cron != o.Cron || r.RRule != o.RRule || r.DTStart != o.DTStart || !slices.Equal(r.RDate, o.RDate) || !slices.Equal(r.ExDate, o.ExDate) || r.Every != o.Every || r.Anchor != o.Anchor || len(r.At) != len(o.At) {
		return false
	}
	for i := range r.At {
		if !r.At[i].Equal(o.At[i]) {
			return false
		}
	}
	return true
}

func checkEvery(p *core.Problems, path string, r Rule) bool {
	if r.Anchor != AnchorPlan && r.Anchor != AnchorFinish && r.Anchor != "" {
		p.Add(path+".anchor", string(r.Anchor), "is not an anchor", "one of plan, finish")
		return false
	}
	if r.Every < task.MinEvery || r.Every > task.MaxEvery {
		p.Addf(path+".every", r.Every, "is outside %s to %s", task.MinEvery, task.MaxEvery)
		return false
	}
	return true
}
