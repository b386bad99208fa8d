// Package rrule is the recurrences of RFC 5545: when they occur, how they are read and said.
package rrule

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Series is a recurrence of RFC 5545: what its RRULEs and RDATEs name, without its EXDATEs. It is immutable.
type Series struct {
	rules  []*rule
	dates  []int64 // RDATE, as instants in order
	except []int64 // EXDATE, as instants in order
	days   []int64 // EXDATE;VALUE=DATE, as day numbers in the rule's zone, in order
	clock  wall.Clock
	text   string // normal form
}

// Next is the first occurrence strictly after t, in the zone of DTSTART; zero when there is none up to the year 9999.
func (r *Series) Next(t time.Time) time.Time {
	u := r.At(t.Unix() + 1)
	if u == civil.None || u > civil.MaxSec {
		return time.Time{}
	}
	return time.Unix(u, 0).In(r.clock.Loc)
}

// Prev is the last occurrence strictly before t, in the zone of DTSTART; zero when there is none.
func (r *Series) Prev(t time.Time) time.Time {
	u := wall.Last(r.At, t)
	if u == civil.None {
		return time.Time{}
	}
	return time.Unix(u, 0).In(r.clock.Loc)
}

// String is the rule as an iCalendar block in normal form, one property a line. Parsing it again gives the same rule.
func (r *Series) String() string { return r.text }

// Zone is the time zone of DTSTART.
func (r *Series) Zone() *time.Location { return r.clock.Loc }

// Note returns what daylight saving did to an occurrence, or "" when it did nothing.
func (r *Series) Note(t time.Time) string {
	for _, rule := range r.rules {
		if s := r.clock.Note(rule, t.Unix()); s != "" {
			return s
		}
	}
	return ""
}

// At is the first occurrence at or after instant u that no EXDATE takes away. Each round drops one excluded instant,
// or one instant of an excluded day, so after the last exclusion it ends at once.
func (r *Series) At(u int64) int64 {
	for {
		at := r.candidate(u)
		if at == civil.None {
			return civil.None
		}
		if day, out := r.excludedDay(at); out {
			u = max(at+1, r.endOfDay(day, at))
			continue
		}
		if _, out := slices.BinarySearch(r.except, at); !out {
			return at
		}
		u = at + 1
	}
}

// candidate is the first instant at or after u that a rule or an RDATE names.
func (r *Series) candidate(u int64) int64 {
	at := civil.None
	if i, _ := slices.BinarySearch(r.dates, u); i < len(r.dates) {
		at = r.dates[i]
	}
	for _, rule := range r.rules {
		if n := r.clock.Next(rule, u); n <= rule.until {
			at = min(at, n)
		}
	}
	return at
}

func (r *Series) excludedDay(u int64) (int64, bool) {
	if len(r.days) == 0 {
		return 0, false
	}
	day := civil.FloorDiv(u+wall.SpanAt(r.clock.Loc, u).Off, civil.DaySecs)
	_, out := slices.BinarySearch(r.days, day)
	return day, out
}

// endOfDay is an instant at or before the end of a day that instant u belongs to; a change of offset costs a second
// round, never a lost occurrence.
func (r *Series) endOfDay(day, u int64) int64 {
	s := wall.SpanAt(r.clock.Loc, u)
	return min(s.End, (day+1)*civil.DaySecs-s.Off)
}
