package schedule

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// Plan is the compiled rules and calendars of a schedule.
type Plan struct {
	Times  cron.Times    // union of all rules that do not count from the finish; nil: none
	Finish time.Duration // shortest interval of the rules from the finish; 0: none
	rules  []ruled       // the rules of Times
	gate   Gate
}

// ruled is a rule with its compiled times.
type ruled struct {
	Rule
	times cron.Times
}

// Plan compiles the rules, and the calendars that the schedule names, which must
// be among the given ones. Plan is pure and costs a few microseconds per rule.
// Callers cache the result by (ID, generation).
func (s Schedule) Plan(calendars ...Calendar) (Plan, error) {
	var p core.Problems
	plan, err := s.PlanFor(&p, time.Time{})
	plan.gate = s.Gate(&p, calendars)
	if err == nil {
		err = p.Err(fmt.Sprintf("schedule %q", s.Name))
	}
	return plan, err
}

// PlanFor compiles the rules without the calendars. A rule that never matches
// after the given instant is a problem, added to p.
func (s Schedule) PlanFor(p *core.Problems, after time.Time) (Plan, error) {
	before := len(*p)
	zone, err := cron.LoadZone(s.Zone)
	if err != nil {
		p.AddCron("zone", s.Zone, err)
	}
	var plan Plan
	var times []cron.Times
	for i, r := range s.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		if !r.single() {
			p.Add(path, "", "must have exactly one of cron, rrule, every, at", "dtstart, rdate and exdate go with rrule, anchor with every")
			continue
		}
		if r.Anchor == AnchorFinish && r.Every > 0 {
			if checkEvery(p, path, r) && (plan.Finish == 0 || r.Every.D() < plan.Finish) {
				plan.Finish = r.Every.D()
			}
			continue
		}
		if t := r.times(p, path, s, zone, after); t != nil {
			times = append(times, t)
			plan.rules = append(plan.rules, ruled{r, t})
		}
	}
	if len(times) == 1 {
		plan.Times = times[0]
	} else if len(times) > 1 {
		plan.Times = cron.Union(times...)
	}
	if len(*p) > before {
		return Plan{}, p.Err(fmt.Sprintf("schedule %q", s.Name))
	}
	return plan, nil
}

// seed returns the seed of the hashes of this schedule. It uses the name, not the
// ID, so that an export that is applied elsewhere keeps its phases.
func (s Schedule) seed() string { return s.Namespace + "/" + s.Name }

// everAfter reports whether any run is left after now.
func (plan Plan) everAfter(now time.Time, s Schedule) bool {
	if plan.Finish > 0 {
		return true
	}
	return !plan.next(s, now).IsZero()
}

// next returns the first planned nominal time after t within start and end.
func (plan Plan) next(s Schedule, t time.Time) time.Time {
	if plan.Times == nil {
		return time.Time{}
	}
	if !s.Start.IsZero() && t.Before(s.Start) {
		t = s.Start.Add(-time.Microsecond)
	}
	n := plan.Times.Next(t)
	if n.IsZero() || !s.End.IsZero() && n.After(s.End) {
		return time.Time{}
	}
	return n
}

// prev returns the last planned nominal time before t and not before start.
func (plan Plan) prev(s Schedule, t time.Time) time.Time {
	if plan.Times == nil {
		return time.Time{}
	}
	if !s.End.IsZero() && t.After(s.End) {
		t = s.End.Add(time.Microsecond)
	}
	n := plan.Times.Prev(t)
	if n.IsZero() || !s.Start.IsZero() && n.Before(s.Start) {
		return time.Time{}
	}
	return n
}

// Upcoming returns up to n nominal times after from. It ignores overlap, pauses
// and max_runs. Rules from the finish have no such times.
func (s Schedule) Upcoming(plan Plan, from time.Time, n int) []time.Time {
	var times []time.Time
	for t := from; len(times) < n; {
		if t = plan.next(s, t); t.IsZero() {
			break
		}
		times = append(times, t)
	}
	return times
}
