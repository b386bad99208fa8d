// Package rrule is the recurrences of RFC 5545: when they occur, how they are read and said.
package rrule

import (
	"slices"
	"strings"
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

// Note says what daylight saving did to an occurrence, or "" when it did nothing.
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

// freq is how long the period of a rule is.
type freq uint8

const (
	secondly freq = iota
	minutely
	hourly
	daily
	weekly
	monthly
	yearly
)

var freqNames = strings.Fields("SECONDLY MINUTELY HOURLY DAILY WEEKLY MONTHLY YEARLY")

// rule is one RRULE, as sets. A BY part that is absent stands as the set of all, or as what DTSTART says in its place.
//
// RFC 5545 speaks of parts that expand and parts that limit. As sets they are all limits: an occurrence is a wall second
// whose month, day, hour, minute and second are in the sets, in a period that INTERVAL does not skip.
type rule struct {
	civil.DayTimes
	freq     freq
	interval int64
	start    int64 // DTSTART, a wall second
	last     int64 // nothing after this wall second: COUNT and a local UNTIL
	until    int64 // nothing after this instant: an UNTIL in UTC
	wkst     int   // first day of the week, 0 = Sunday
	month    uint16
	dom      signed // BYMONTHDAY
	yday     signed // BYYEARDAY
	week     signed // BYWEEKNO
	dow      uint8  // BYDAY without numbers
	nth      []nthWeekday
	inYear   bool  // the numbers of BYDAY count within the year, not the month
	setpos   []int // BYSETPOS, counted from 1 or from -1
	steps    int   // bounds one search, see maxSteps
	weight   int   // what one step of it costs; more than 1 for long lists
}

// signed is a set of numbers counted from the start (1, 2, ...) or from the end (-1, -2, ...).
type signed struct {
	used     bool
	pos, neg [6]uint64
}

func (s *signed) add(n int) {
	s.used = true
	if n > 0 {
		s.pos[n/64] |= 1 << (n % 64)
	} else {
		s.neg[-n/64] |= 1 << (-n % 64)
	}
}

// has says whether number n of total is in the set.
func (s *signed) has(n, total int) bool {
	back := total + 1 - n
	return s.pos[n/64]>>(n%64)&1 != 0 || back > 0 && s.neg[back/64]>>(back%64)&1 != 0
}

// nthWeekday is 2TU or -1FR.
type nthWeekday struct{ n, weekday int }

// maxSteps bounds one search: how many candidates it looks at. Only rules whose INTERVAL and BY parts rarely meet, like
// every 49,999 seconds on the full hour, take more than a few.
const maxSteps = 200_000

// WallFrom is the first occurrence at or after wall second w.
func (r *rule) WallFrom(w int64) int64 {
	at, _ := r.search(w, r.steps)
	return at
}

// search is WallFrom with a budget; it returns what is left of it. Two questions take turns until both agree: where do
// the sets match next, and where is the next period that counts. Nothing is ever counted up from DTSTART.
func (r *rule) search(w int64, steps int) (at int64, left int) {
	w = max(w, r.start)
	for ; steps > 0; steps -= r.weight {
		m := r.match(w)
		if m == civil.None || m > r.last {
			return civil.None, steps
		}
		a := r.align(m)
		switch {
		case a != m:
			w = a
		case r.setpos == nil:
			return m, steps
		default:
			if at, w = r.pick(m); at <= r.last && at != civil.None {
				return at, steps
			}
		}
		if w > r.last || w == civil.None {
			return civil.None, steps
		}
	}
	return civil.None, 0
}

// match is the first wall second at or after w that all sets hold, whatever INTERVAL says. The days of the Gregorian
// calendar repeat after 4,800 months.
func (r *rule) match(w int64) int64 {
	day := civil.FloorDiv(w, civil.DaySecs)
	y, m, d := civil.DateOf(day)
	if set := r.daysOf(y, m) >> d; set != 0 {
		if set&1 != 0 {
			if s := r.From(int(w - day*civil.DaySecs)); s >= 0 {
				return day*civil.DaySecs + int64(s)
			}
		}
		if n := civil.LowBit(uint64(set), 1); n > 0 {
			return (day+int64(n))*civil.DaySecs + r.First
		}
	}
	for range 4812 {
		if m++; m > 12 {
			y, m = y+1, 1
		}
		if y > civil.MaxYear {
			break
		}
		if n := civil.LowBit(uint64(r.daysOf(y, m)), 1); n > 0 {
			return civil.DayOf(y, m, n)*civil.DaySecs + r.First
		}
	}
	return civil.None
}

// align is w if it lies in a period that counts, and otherwise the start of the next one.
func (r *rule) align(w int64) int64 {
	if r.interval == 1 {
		return w
	}
	p := r.period(w)
	if late := (p - r.period(r.start)) % r.interval; late != 0 {
		return r.periodStart(p + r.interval - late)
	}
	return w
}

// period numbers the period that holds wall second w.
func (r *rule) period(w int64) int64 {
	switch r.freq {
	case secondly:
		return w
	case minutely:
		return civil.FloorDiv(w, 60)
	case hourly:
		return civil.FloorDiv(w, 3600)
	}
	day := civil.FloorDiv(w, civil.DaySecs)
	switch r.freq {
	case daily:
		return day
	case weekly:
		return civil.FloorDiv(day+4-int64(r.wkst), 7)
	}
	y, m, _ := civil.DateOf(day)
	if r.freq == monthly {
		return int64(y*12 + m - 1)
	}
	return int64(y)
}

// periodStart is the first wall second of period p, or none beyond the year 9999.
func (r *rule) periodStart(p int64) int64 {
	w := civil.None
	switch r.freq {
	case secondly:
		w = p
	case minutely:
		w = p * 60
	case hourly:
		w = p * 3600
	case daily:
		w = p * civil.DaySecs
	case weekly:
		w = (p*7 - 4 + int64(r.wkst)) * civil.DaySecs
	case monthly:
		if p/12 <= civil.MaxYear {
			w = civil.DayOf(int(p/12), int(p%12)+1, 1) * civil.DaySecs
		}
	case yearly:
		if p <= civil.MaxYear {
			w = civil.DayOf(int(p), 1, 1) * civil.DaySecs
		}
	}
	if w > civil.MaxSec {
		return civil.None
	}
	return w
}
