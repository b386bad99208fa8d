package rrule

import (
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

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
	weight   int   // cost of one step; more than 1 for long lists
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

// has reports whether number n of total is in the set.
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

// match is the first wall second at or after w that all sets hold, regardless of INTERVAL. The days of the Gregorian
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
