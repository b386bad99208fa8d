package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/rrule"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// RRule is a recurrence of RFC 5545: what its RRULEs and RDATEs name, without its EXDATEs. It is immutable.
type RRule struct{ series rrule.Series }

// ParseRRule reads a recurrence: a bare "FREQ=WEEKLY;BYDAY=MO" (or with "RRULE:" in front), or an iCalendar block with
// DTSTART, RRULE, RDATE and EXDATE lines, folded or not, alone or inside a VEVENT. Other properties are ignored.
//
// DTSTART brings the zone: its TZID, UTC with a Z, and Options.Zone when it has neither. Without DTSTART,
// Options.Start takes its place, and without both the rule must not need one.
//
// The readings taken where RFC 5545 leaves a choice or its users stray from it:
//   - DTSTART is an occurrence only if the rule names it. (The RFC calls the other case undefined.)
//   - BYWEEKNO without BYDAY means the weekday of DTSTART, as section 3.3.10 derives all that is missing.
//   - A week of BYWEEKNO counts for the calendar year its days lie in.
//   - UNTIL as a DATE with a timed DTSTART lasts through that day; a local UNTIL is read in the zone of DTSTART.
//   - EXDATE as a DATE takes away the whole local day.
//   - RDATE as a PERIOD stands for the start of the period.
//   - Several RRULE lines are a union. COUNT counts before EXDATE takes away, and never the same time twice.
//   - Second 60 is second 59 (section 3.3.12).
//
// Limits: 64 KiB of text, 16 rules, 10,000 dates, COUNT up to 100,000. One search looks at no more than 200,000
// candidates, which only rules whose INTERVAL and BY parts hardly ever meet come near.
//
// Every error is an [*Error]; those about the rule itself cite the RFC. Rules that never occur are refused.
func ParseRRule(text string, o Options) (*RRule, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := rrule.Parse(text, rrule.Options{Clock: o.clock(wall.ICal), Start: o.Start, After: o.After, Budget: rrule.NewBudget()})
	if err != nil {
		return nil, err
	}
	return &RRule{*s}, nil
}

// Next is the first occurrence strictly after t, in the zone of DTSTART; zero when there is none up to the year 9999.
func (r *RRule) Next(t time.Time) time.Time { return r.series.Next(t) }

// Prev is the last occurrence strictly before t, in the zone of DTSTART; zero when there is none.
func (r *RRule) Prev(t time.Time) time.Time { return r.series.Prev(t) }

// String is the rule as an iCalendar block in normal form, one property a line. Parsing it again gives the same rule.
func (r *RRule) String() string { return r.series.String() }

// Explain returns the recurrence in plain English.
func (r *RRule) Explain() string { return r.series.Explain() }

// Note returns what daylight saving did to an occurrence, or "" when it did nothing.
func (r *RRule) Note(t time.Time) string { return r.series.Note(t) }

// Zone is the time zone of DTSTART.
func (r *RRule) Zone() *time.Location { return r.series.Zone() }
