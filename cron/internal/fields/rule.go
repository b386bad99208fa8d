package fields

import (
	"fmt"
	"math/bits"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Rule is the fields of an expression as sets.
type Rule struct {
	times civil.DayTimes
	month uint16
	days  days
	years []yearRange // nil = every year
	week  uint8       // the weekdays, when nothing else says which days; else 0
}

// yearRange is lo, lo+step, ... up to hi.
type yearRange struct{ lo, hi, step int }

// NewRule turns columns into sets. Open says that a field of the time of day goes on through its whole length, so that
// the rule follows real time.
func NewRule(cols []Column, seed string) (r Rule, open bool) {
	sec := uint64(1)
	if len(cols) == 7 {
		r.years = yearRanges(cols[6])
		cols = cols[:6]
	}
	if len(cols) == 6 {
		sec = cols[0].Bits(seed)
		open = cols[0].open()
		cols = cols[1:]
	}
	open = open || cols[0].open() || cols[1].open()
	r.times = civil.NewDayTimes(cols[1].Bits(seed), cols[0].Bits(seed), sec)
	r.days = newDays(cols[2], cols[4], seed)
	r.month = uint16(cols[3].Bits(seed))
	if r.years == nil && r.month == uint16(civil.MonthBits(12)) && r.days.weekly() {
		r.week = r.days.dow
	}
	return r, open
}

// yearRanges is nil for every year.
func yearRanges(c Column) []yearRange {
	var list []yearRange
	for _, i := range c.items {
		r := yearRange{i.lo, i.hi, max(i.step, 1)}
		if i.form == star || i.form == anyDay {
			if i.step <= 1 {
				return nil
			}
			r.lo, r.hi = epochYear, civil.MaxYear
		}
		list = append(list, r)
	}
	return list
}

// epochYear is where a star in the year field starts counting its steps.
const epochYear = 1970

// WallFrom is the first matching wall second at or after w. It visits each month once: at most the 4,800 of a Gregorian
// cycle and twelve more, or those of the years the expression names.
func (r *Rule) WallFrom(w int64) int64 {
	if r.week != 0 {
		return r.weekFrom(w)
	}
	day := civil.FloorDiv(w, civil.DaySecs)
	y, m, d := civil.DateOf(day)
	if r.hasYear(y) && r.month>>m&1 != 0 {
		set := r.days.of(y, m)
		if set>>d&1 != 0 {
			if s := r.times.From(int(w - day*civil.DaySecs)); s >= 0 {
				return day*civil.DaySecs + int64(s)
			}
		}
		if set = set >> d >> 1; set != 0 {
			return (day+1+int64(bits.TrailingZeros32(set)))*civil.DaySecs + r.times.First
		}
	}
	return r.monthFrom(y, m+1)
}

// weekFrom is WallFrom for rules of every month and year, which need no date.
func (r *Rule) weekFrom(w int64) int64 {
	w = max(w, civil.MinSec)
	day := civil.FloorDiv(w, civil.DaySecs)
	sec := int(w - day*civil.DaySecs)
	for range 8 {
		if r.week>>civil.WeekdayOf(day)&1 != 0 {
			if s := r.times.From(sec); s >= 0 {
				if at := day*civil.DaySecs + int64(s); at <= civil.MaxSec {
					return at
				}
				return civil.None
			}
		}
		day, sec = day+1, 0
	}
	return civil.None
}

// monthFrom is the first matching wall second from the first day of a month on. Month 13 is next January.
func (r *Rule) monthFrom(y, m int) int64 {
	for range 4812 {
		if m = civil.LowBit(uint64(r.month), m); m < 0 {
			y, m = y+1, 0
			continue
		}
		switch ny := r.yearFrom(y); {
		case ny < 0:
			return civil.None
		case ny > y:
			y, m = ny, 0
			continue
		}
		if set := r.days.of(y, m); set != 0 {
			return civil.DayOf(y, m, bits.TrailingZeros32(set))*civil.DaySecs + r.times.First
		}
		m++
	}
	return civil.None
}

func (r *Rule) hasYear(y int) bool { return r.yearFrom(y) == y }

// yearFrom is the first matching year at or after y, or -1.
func (r *Rule) yearFrom(y int) int {
	y = max(y, civil.MinYear)
	if r.years == nil {
		if y > civil.MaxYear {
			return -1
		}
		return y
	}
	first := -1
	for _, ys := range r.years {
		n := ys.lo
		if y > n {
			n += (y - n + ys.step - 1) / ys.step * ys.step
		}
		if n <= ys.hi && (first < 0 || n < first) {
			first = n
		}
	}
	return first
}

// Mismatch names the first field, from the largest, that a wall second fails.
func (r *Rule) Mismatch(wall int64) string {
	day := civil.FloorDiv(wall, civil.DaySecs)
	y, m, d := civil.DateOf(day)
	s := int(wall - day*civil.DaySecs)
	switch {
	case !r.hasYear(y):
		return fmt.Sprintf("the year %d is not in the rule", y)
	case r.month>>m&1 == 0:
		return longName(monthField, m) + " is not in the rule"
	case r.days.of(y, m)>>d&1 == 0:
		return fmt.Sprintf("%s the %s is not a day of the rule", longName(Weekday, civil.WeekdayOf(day)), spell.Ordinal(d))
	case r.times.Hour>>(s/3600)&1 == 0:
		return fmt.Sprintf("hour %d is not in the rule", s/3600)
	case r.times.Min>>(s/60%60)&1 == 0:
		return fmt.Sprintf("minute %d is not in the rule", s/60%60)
	}
	return fmt.Sprintf("second %d is not in the rule", s%60)
}

// WhyNever returns which field keeps a rule that matches no time from it.
func (r *Rule) WhyNever() string {
	if r.years != nil {
		return "no year of the year field has such a day"
	}
	return "no month it names has such a day; use L for the last day of a month"
}
