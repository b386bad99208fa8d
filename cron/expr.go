package cron

import (
	"math/bits"
	"time"
)

// Expr is a cron expression, ready to be asked. It is immutable.
type Expr struct {
	dayTimes
	month uint16
	days  days
	years []yearRange // nil = every year
	week  uint8       // the weekdays, when nothing else says which days; else 0
	clock clock
	every *Every // set for @every, and then nothing above is
	text  string // normal form
}

// yearRange is lo, lo+step, ... up to hi.
type yearRange struct{ lo, hi, step int }

// Next is the first occurrence strictly after t, in the rule's zone; zero when there is none up to the year 9999.
func (e *Expr) Next(t time.Time) time.Time {
	if e.every != nil {
		return e.every.Next(t)
	}
	return e.clock.first(e, t)
}

// Prev is the last occurrence strictly before t, in the rule's zone; zero when there is none. It costs a few dozen
// times what Next costs.
func (e *Expr) Prev(t time.Time) time.Time {
	if e.every != nil {
		return e.every.Prev(t)
	}
	u := last(func(u int64) int64 { return e.clock.next(e, u) }, t)
	if u == none {
		return time.Time{}
	}
	return time.Unix(u, 0).In(e.clock.loc)
}

// String is the expression in normal form: one space between fields, upper case, names for months and weekdays, macros
// written out, and its zone in front if the text had one. Parsing it again gives the same rule.
func (e *Expr) String() string { return e.text }

// Zone is the time zone the rule is read in.
func (e *Expr) Zone() *time.Location { return e.clock.loc }

// Fixed says whether this is a fixed-time rule, which runs exactly once for each of its times whatever the clock does
// (see the package comment), and not one that follows real time.
func (e *Expr) Fixed() bool { return e.clock.seams == fixed }

// wallFrom is the first matching wall second at or after w. It visits each month once: at most the 4,800 of a Gregorian
// cycle and twelve more, or those of the years the expression names.
func (e *Expr) wallFrom(w int64) int64 {
	if e.week != 0 {
		return e.weekFrom(w)
	}
	day := floorDiv(w, daySecs)
	y, m, d := dateOf(day)
	if e.hasYear(y) && e.month>>m&1 != 0 {
		set := e.days.of(y, m)
		if set>>d&1 != 0 {
			if s := e.from(int(w - day*daySecs)); s >= 0 {
				return day*daySecs + int64(s)
			}
		}
		if set = set >> d >> 1; set != 0 {
			return (day+1+int64(bits.TrailingZeros32(set)))*daySecs + e.first
		}
	}
	return e.monthFrom(y, m+1)
}

// weekFrom is wallFrom for rules of every month and year, which need no date.
func (e *Expr) weekFrom(w int64) int64 {
	w = max(w, minSec)
	day := floorDiv(w, daySecs)
	sec := int(w - day*daySecs)
	for range 8 {
		if e.week>>weekdayOf(day)&1 != 0 {
			if s := e.from(sec); s >= 0 {
				if at := day*daySecs + int64(s); at <= maxSec {
					return at
				}
				return none
			}
		}
		day, sec = day+1, 0
	}
	return none
}

// monthFrom is the first matching wall second from the first day of a month on. Month 13 is next January.
func (e *Expr) monthFrom(y, m int) int64 {
	for range 4812 {
		if m = lowBit(uint64(e.month), m); m < 0 {
			y, m = y+1, 0
			continue
		}
		switch ny := e.yearFrom(y); {
		case ny < 0:
			return none
		case ny > y:
			y, m = ny, 0
			continue
		}
		if set := e.days.of(y, m); set != 0 {
			return dayOf(y, m, bits.TrailingZeros32(set))*daySecs + e.first
		}
		m++
	}
	return none
}

func (e *Expr) hasYear(y int) bool { return e.yearFrom(y) == y }

// yearFrom is the first matching year at or after y, or -1.
func (e *Expr) yearFrom(y int) int {
	y = max(y, minYear)
	if e.years == nil {
		if y > maxYear {
			return -1
		}
		return y
	}
	first := -1
	for _, r := range e.years {
		n := r.lo
		if y > n {
			n += (y - n + r.step - 1) / r.step * r.step
		}
		if n <= r.hi && (first < 0 || n < first) {
			first = n
		}
	}
	return first
}
