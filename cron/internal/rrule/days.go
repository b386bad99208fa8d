package rrule

import (
	"math/bits"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// daysOf is the set of days of a month that the rule's sets hold (bit d = day d).
func (r *rule) daysOf(y, m int) uint32 {
	if r.month>>m&1 == 0 {
		return 0
	}
	n := civil.DaysInMonth(y, m)
	set := civil.MonthBits(n)
	if r.dom.used {
		set &= r.monthDays(n)
	}
	if r.dow == 127 && !r.yday.used && !r.week.used {
		return set
	}
	day1 := civil.DayOf(y, m, 1)
	if r.dow != 127 {
		set &= r.weekDays(y, day1, n)
	}
	if r.yday.used {
		set &= r.yearDays(y, day1, n)
	}
	if r.week.used {
		set &= r.weekNumbers(day1, n)
	}
	return set
}

// monthDays is BYMONTHDAY in a month of n days.
func (r *rule) monthDays(n int) uint32 {
	back := bits.Reverse64(r.dom.neg[0]) // -k at bit 63-k; it belongs at n+1-k
	return (uint32(r.dom.pos[0]) | uint32(back>>(62-n))) & civil.MonthBits(n)
}

// weekDays is BYDAY in the month of n days that starts with day number day1.
func (r *rule) weekDays(y int, day1 int64, n int) uint32 {
	set := civil.WeekdayBits(r.dow, civil.WeekdayOf(day1))
	for _, w := range r.nth {
		from, to := day1, day1+int64(n)
		if r.inYear {
			from, to = civil.DayOf(y, 1, 1), civil.DayOf(y+1, 1, 1)
		}
		if day := w.within(from, to); day >= day1 && day < day1+int64(n) {
			set |= 1 << (day - day1 + 1)
		}
	}
	return set
}

// within is the day number of 2TU or -1FR in the days from <= day < to; it may fall outside when there is none.
func (w nthWeekday) within(from, to int64) int64 {
	day := to - 1 - civil.FloorMod(int64(civil.WeekdayOf(to-1)-w.weekday), 7) + int64(w.n+1)*7
	if w.n > 0 {
		day = from + civil.FloorMod(int64(w.weekday-civil.WeekdayOf(from)), 7) + int64(w.n-1)*7
	}
	if day < from || day >= to {
		return civil.None
	}
	return day
}

// yearDays is BYYEARDAY.
func (r *rule) yearDays(y int, day1 int64, n int) uint32 {
	var set uint32
	before, total := int(day1-civil.DayOf(y, 1, 1)), civil.DaysInYear(y)
	for d := 1; d <= n; d++ {
		if r.yday.has(before+d, total) {
			set |= 1 << d
		}
	}
	return set
}

// weekNumbers is BYWEEKNO. A week belongs to the year that holds four of its days (ISO 8601, with WKST as its first
// day), so days around New Year can belong to the last week of the year before or the first of the year after.
func (r *rule) weekNumbers(day1 int64, n int) uint32 {
	var set uint32
	for d := 1; d <= n; {
		monday := r.weekStart(day1 + int64(d-1))
		year, _, _ := civil.DateOf(monday + 3)
		first := r.weekStart(civil.DayOf(year, 1, 4))
		total := int(r.weekStart(civil.DayOf(year+1, 1, 4))-first) / 7
		days := uint32(1) << d
		for d++; d <= n && r.weekStart(day1+int64(d-1)) == monday; d++ {
			days |= 1 << d
		}
		if r.week.has(int(monday-first)/7+1, total) {
			set |= days
		}
	}
	return set
}

// weekStart is the first day of the week that holds a day.
func (r *rule) weekStart(day int64) int64 {
	return day - civil.FloorMod(int64(civil.WeekdayOf(day)-r.wkst), 7)
}

// batch is everything the sets hold in one period: some days, and for each the same times.
type batch struct {
	days  [12]uint32 // bit d = day base+d
	base  [12]int64
	n     int
	times civil.DayTimes
}

// pick is BYSETPOS: the first chosen occurrence at or after m within m's period, or none and the period's end.
func (r *rule) pick(m int64) (at, end int64) {
	p := r.period(m)
	from, end := r.periodStart(p), r.periodStart(p+1)
	if end == civil.None {
		return civil.None, civil.None
	}
	b := r.batch(from, end)
	days := 0
	for _, set := range b.days[:b.n] {
		days += bits.OnesCount32(set)
	}
	each := b.times.Count()
	at = civil.None
	for _, k := range r.setpos {
		if k < 0 {
			k += days*each + 1
		}
		if k < 1 || k > days*each {
			continue
		}
		w := b.day((k-1)/each)*civil.DaySecs + int64(b.times.At((k-1)%each))
		if w >= m {
			at = min(at, w)
		}
	}
	return at, end
}

// batch collects the period from <= w < end. Periods shorter than a day have one day, and one hour or minute of it.
func (r *rule) batch(from, end int64) (b batch) {
	b.times = r.DayTimes
	s := civil.FloorMod(from, civil.DaySecs)
	switch r.freq {
	case secondly:
		b.times.Sec &= 1 << (s % 60)
		fallthrough
	case minutely:
		b.times.Min &= 1 << (s / 60 % 60)
		fallthrough
	case hourly:
		b.times.Hour &= 1 << (s / 3600)
	}
	day, stop := civil.FloorDiv(from, civil.DaySecs), civil.FloorDiv(end-1, civil.DaySecs)+1
	for day < stop {
		y, m, d := civil.DateOf(day)
		base := day - int64(d)
		set := r.daysOf(y, m) >> d << d
		if after := base + 32 - stop; after > 0 {
			set &= uint32(1)<<(32-after) - 1
		}
		b.days[b.n], b.base[b.n] = set, base
		b.n++
		day = base + int64(civil.DaysInMonth(y, m)) + 1
	}
	return b
}

// day is number k of the batch's days, from 0.
func (b *batch) day(k int) int64 {
	for i, set := range b.days[:b.n] {
		if n := bits.OnesCount32(set); k >= n {
			k -= n
			continue
		}
		return b.base[i] + int64(civil.NthBit(uint64(set), k))
	}
	return civil.None
}
