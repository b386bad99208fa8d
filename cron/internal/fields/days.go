package fields

import (
	"math/bits"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// days are the days of the two day fields and the month.
type days struct {
	dom      uint32   // bit d = day d of the month
	last     uint32   // bit n = n days before the last day
	near     uint32   // bit d = the workday nearest to day d
	lastNear uint32   // bit n = the workday nearest to n days before the last day
	dow      uint8    // bit 0 = Sunday
	lastDow  uint8    // the last such weekday of the month
	nth      [5]uint8 // the (index+1)th such weekday of the month
	and      bool     // both fields must agree; otherwise one is enough
	plain    bool     // both fields are stars without a step: every day
}

func newDays(dom, dow Column, seed string) days {
	d := days{
		dom: uint32(dom.Bits(seed)),
		dow: uint8(dow.Bits(seed)),
		and: dow.and || dom.star() || dow.star(),
	}
	for _, i := range append(dom.items, dow.items...) {
		switch i.form {
		case lastDay:
			d.last |= 1 << i.lo
		case lastWork:
			d.lastNear |= 1 << i.lo
		case nearWork:
			d.near |= 1 << i.lo
		case lastOf:
			d.lastDow |= 1 << i.lo
		case nthOf:
			d.nth[i.hi-1] |= 1 << i.lo
		}
	}
	d.plain = d.and && d.dom == civil.MonthBits(31) && d.dow == 127
	return d
}

// weekly reports that the day of the week alone decides.
func (d *days) weekly() bool {
	return d.and && d.dom == civil.MonthBits(31) && d.last|d.near|d.lastNear == 0 && d.lastDow == 0 && d.nth == [len(d.nth)]uint8{}
}

// of is the set of matching days of a month (bit d = day d).
func (d *days) of(y, m int) uint32 {
	n := civil.DaysInMonth(y, m)
	if d.plain {
		return civil.MonthBits(n)
	}
	first := civil.WeekdayOf(civil.DayOf(y, m, 1))
	if d.and {
		return d.monthDays(n, first) & d.weekDays(n, first)
	}
	return d.monthDays(n, first) | d.weekDays(n, first)
}

// monthDays is the day-of-month field for a month of n days that starts on weekday first.
func (d *days) monthDays(n, first int) uint32 {
	set := d.dom
	for s := d.last; s != 0; s &= s - 1 {
		set |= dayBit(n - bits.TrailingZeros32(s))
	}
	for s := d.near; s != 0; s &= s - 1 {
		set |= dayBit(nearestWorkday(bits.TrailingZeros32(s), n, first))
	}
	for s := d.lastNear; s != 0; s &= s - 1 {
		set |= dayBit(nearestWorkday(n-bits.TrailingZeros32(s), n, first))
	}
	return set & civil.MonthBits(n)
}

// weekDays is the weekday field for the same month.
func (d *days) weekDays(n, first int) uint32 {
	set := civil.WeekdayBits(d.dow, first)
	for i, days := range d.nth {
		if days != 0 {
			week := civil.MonthBits(7) << (7 * i)
			set |= civil.WeekdayBits(days, first) & week
		}
	}
	if d.lastDow != 0 {
		set |= civil.WeekdayBits(d.lastDow, first) & (civil.MonthBits(n) &^ civil.MonthBits(n-7))
	}
	return set & civil.MonthBits(n)
}

func dayBit(d int) uint32 {
	if d < 1 {
		return 0
	}
	return 1 << d
}

// nearestWorkday is the Monday to Friday nearest to day d without leaving the month, or 0 when there is no day d.
func nearestWorkday(d, n, first int) int {
	if d < 1 || d > n {
		return 0
	}
	switch (first + d - 1) % 7 {
	case 6: // Saturday: the Friday before, unless that was last month
		if d == 1 {
			return 3
		}
		return d - 1
	case 0: // Sunday: the Monday after, unless that is next month
		if d == n {
			return d - 2
		}
		return d + 1
	}
	return d
}
