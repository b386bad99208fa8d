//go:build oracles

package oracles

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// tooSlow is far more than the permitted time to read a rule, even on a busy machine.
const tooSlow = 5 * time.Second

// rruleTimes is the number of compared times of a recurrence.
const rruleTimes = 24

var rruleZones = []string{
	"America/New_York", "Europe/Sofia", "Europe/London", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana", "America/Santiago",
	"Pacific/Chatham", "Antarctica/Troll", "Pacific/Apia", "Africa/Casablanca", "America/Scoresbysund", "Asia/Tehran", "America/Caracas",
}

// TestRRule compares recurrences with python-dateutil, which works on times without a zone. Python's datetime and zoneinfo
// (PEP 495) convert a wall time to real time, and our settings choose among their answers. rrule-temporal is compared in
// UTC, and in zones if both skip the times in a gap.
func TestRRule(t *testing.T) {
	t.Parallel()
	rules, seed := plan(t)
	python, node := startPython(t), startNode(t)
	zones := sameZones(t, python, rruleZones, 1995, 2036, 10)
	both := sameZones(t, node, rruleZones, 1995, 2036, 1)
	kept := slices.DeleteFunc(slices.Clone(rruleZones), func(zone string) bool { _, ok := zones[zone]; return !ok })
	tally := newTally(t)
	for i := range rules {
		d := newDice(seed+1, i)
		r := randomRRule(d, zones, kept)
		exclude(t, d, r)
		began := time.Now()
		ours, err := cron.ParseRRule(r.block(), r.options(t))
		took := time.Since(began)
		tally.spent["(ours)"] += took
		if took > tooSlow {
			tally.fail()
			t.Errorf("rule %d: %s: got %s to read it", i, r, took)
		}
		switch {
		case err == nil || nothing(err):
		case strings.Contains(err.Error(), "takes too long to count out"):
			tally.add("(ours)", "refused: COUNT takes too long to count out")
			continue
		default:
			tally.fail()
			t.Errorf("rule %d: %s: got error %v", i, r, err)
			continue
		}
		if ours == nil && len(r.rules)+len(r.rdates) > 1 {
			tally.add("(ours)", "refused: one of several rules, or the rule beside RDATE, never occurs")
			continue
		}
		for _, e := range rruleEngines {
			if !e.takes(r, both) {
				continue
			}
			if diff := differenceFor(e.name, nil, r); diff != nil {
				tally.add(e.name, "not compared: "+diff.class)
				continue
			}
			c := node
			if e.python {
				c = python
			}
			began := time.Now()
			a, err := c.ask(e.query(r))
			tally.spent[e.name] += time.Since(began)
			switch {
			case errors.Is(err, errTooLong):
				tally.add(e.name, "gave no answer in time")
				continue
			case err != nil:
				t.Fatal(err)
			case a.Error != "" && ours == nil && strings.Contains(a.Error, "generates an empty set"):
				tally.add(e.name, "agrees that nothing matches")
				continue
			case strings.Contains(a.Error, "Maximum iterations"):
				tally.add(e.name, "found nothing in time")
				continue
			case a.Error != "":
				tally.fail()
				t.Errorf("rule %d: %s: %s refuses: %s", i, r, e.name, a.Error)
				continue
			case len(a.Times) == 0 && a.More:
				tally.add(e.name, "found nothing in time")
				continue
			}
			if got, want := ourTimes(ours, veryEarly, len(a.Times), a.More || e.mayStop), a.Times; !slices.Equal(got, want) {
				tally.fail()
				t.Errorf("rule %d: %s, %s (more: %v)\n  %s", i, r, e.name, a.More, show(want, got))
				continue
			}
			tally.add(e.name, "compared")
			if len(a.Times) == 0 {
				tally.add(e.name, "  of these without any time")
			}
			if r.zone != "UTC" {
				tally.add(e.name, "  of these in zones with daylight saving")
				if crossesSeam(zones[r.zone], a.firstTime()-1, a.Times) {
					tally.add(e.name, "  of these across a change of the clock")
				}
			}
			probe(t, d, ours, a.Times)
		}
	}
	tally.print(rules)
}

// veryEarly is a time before all rules.
var veryEarly = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

func (a answer) firstTime() int64 {
	if len(a.Times) == 0 {
		return 0
	}
	return a.Times[0]
}

// probe checks Next and Prev at times that an engine returned.
func probe(t *testing.T, d dice, ours *cron.RRule, times []int64) {
	t.Helper()
	for range min(3, len(times)-1) {
		k := d.IntN(len(times) - 1)
		at := time.Unix(times[k]+d.Int64N(times[k+1]-times[k]), 0)
		if got := ours.Next(at).Unix(); got != times[k+1] {
			t.Errorf("%s: Next(%s): got %s, want %s", ours, at.UTC(), utc(got), utc(times[k+1]))
		}
		if got := ours.Prev(at.Add(time.Second)).Unix(); got != times[k] {
			t.Errorf("%s: Prev(%s): got %s, want %s", ours, at.Add(time.Second).UTC(), utc(got), utc(times[k]))
		}
	}
}

// exclude makes some of the first times EXDATEs, so that an EXDATE meets a time of the rule.
func exclude(t *testing.T, d dice, r *rrule) {
	t.Helper()
	if !d.chance(15) {
		return
	}
	ours, err := cron.ParseRRule(r.block(), r.options(t))
	if err != nil {
		return
	}
	for _, u := range cron.Upcoming(ours, time.Unix(veryEarly, 0), 12) {
		switch {
		case d.chance(25):
			r.exdate = append(r.exdate, u.Unix())
		case d.chance(10) && !slices.Contains(r.exdays, u.Format("20060102")):
			r.exdays = append(r.exdays, u.Format("20060102"))
		}
	}
}

func (r *rrule) options(t *testing.T) cron.Options {
	t.Helper()
	loc, err := cron.LoadZone(r.zone)
	if err != nil {
		t.Fatal(err)
	}
	return cron.Options{Zone: loc, Gap: cron.Gap(r.gap), Fold: cron.Fold(r.fold)}
}

// rruleEngine describes the requests to one engine.
type rruleEngine struct {
	name    string
	python  bool
	mayStop bool // the engine gives up after some steps, so its end may not be the end of the series
	takes   func(r *rrule, zones map[string][]int64) bool
	query   func(r *rrule) query
}

var rruleEngines = []*rruleEngine{
	{name: "dateutil", python: true, takes: func(*rrule, map[string][]int64) bool { return true }, query: dateutilQuery},
	{name: "rrule-temporal", mayStop: true, takes: temporalTakes, query: func(r *rrule) query {
		return query{Engine: "rrule-temporal", N: rruleTimes / 2, Rule: r.block()}
	}},
}

func dateutilQuery(r *rrule) query {
	q := query{
		Engine: "dateutil", Zone: r.zone, N: rruleTimes, Start: r.start.Format(wallLayout), Until: r.until, Gap: r.gap, Fold: r.fold,
		RDates: r.rdates, ExDate: r.exdate, ExDays: r.exdays,
	}
	for _, p := range r.rules {
		p = maps.Clone(p)
		if until := strings.TrimSuffix(p["UNTIL"], "Z"); len(until) == 8 {
			p["UNTIL"] = until + "T235959"
		} else if until != "" {
			p["UNTIL"] = until
		}
		q.Rules = append(q.Rules, p.text())
	}
	return q
}

// temporalTakes reports whether rrule-temporal reads the whole block as we do: one rule without RDATE and EXDATE, and in a
// zone the reading of section 3.3.10, by which a time in a gap does not exist. COUNT then differs: see the table.
func temporalTakes(r *rrule, zones map[string][]int64) bool {
	if len(r.rules) > 1 || len(r.rdates)+len(r.exdate)+len(r.exdays) > 0 || r.date {
		return false
	}
	_, known := zones[r.zone]
	return r.zone == "UTC" || known && r.gap == "skip" && r.fold == "first"
}
