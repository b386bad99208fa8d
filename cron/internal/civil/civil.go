// Package civil counts dates and times of the wall clock as numbers, and holds sets of them as bits. It knows no zone: package
// wall lays its numbers over real time. All functions are pure.
package civil

import (
	"math"
	"math/bits"
	"time"
)

// A wall second is a reading of the wall clock as a number: the Unix time at which a clock in UTC would show it.
// A day number is a wall second divided by 86,400. Both are proleptic Gregorian.
const (
	DaySecs = 86400
	None    = int64(math.MaxInt64) // "no such wall second" and "no such instant"

	MinYear = 1
	MaxYear = 9999
)

var (
	MinSec = DayOf(MinYear, 1, 1) * DaySecs
	MaxSec = DayOf(MaxYear+1, 1, 1)*DaySecs - 1
)

// DayOf is the day number of a date. The month must be 1 to 12; the day may be any number.
// The year is turned so that it starts in March: the leap day comes last, and month lengths follow one formula
// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
func DayOf(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := FloorDiv(int64(y), 400)
	yoe := int64(y) - era*400
	doy := int64((153*(m-3)+2)/5 + d - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// DateOf is the inverse of DayOf.
func DateOf(day int64) (y, m, d int) {
	day += 719468
	era := FloorDiv(day, 146097)
	doe := day - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := int(doe - (365*yoe + yoe/4 - yoe/100))
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	y = int(yoe + era*400)
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

// WeekdayOf is 0 for Sunday to 6 for Saturday; day 0 was a Thursday.
func WeekdayOf(day int64) int {
	return int(FloorMod(day+4, 7))
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

// DaysInMonth takes months 1 to 12.
func DaysInMonth(y, m int) int {
	if m == 2 {
		if isLeap(y) {
			return 29
		}
		return 28
	}
	return 30 + (m+m>>3)&1
}

func DaysInYear(y int) int {
	if isLeap(y) {
		return 366
	}
	return 365
}

// MonthBits has bit d set for every day d of a month of n days.
func MonthBits(n int) uint32 { return 1<<(n+1) - 2 }

// WeekdayBits turns a set of weekdays (bit 0 = Sunday) into the days of a month whose first day is weekday first.
// The days may run past the end of the month.
func WeekdayBits(set uint8, first int) uint32 {
	s := uint32(set)
	week := (s>>first | s<<(7-first)) & 127
	return uint32(uint64(week) * 0x10204081 << 1)
}

// LowBit is the smallest member of a set that is not below from, or -1.
func LowBit(set uint64, from int) int {
	if from > 63 {
		return -1
	}
	set = set >> from << from
	if set == 0 {
		return -1
	}
	return bits.TrailingZeros64(set)
}

// FloorDiv is a divided by b, rounded down; b is positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// FloorMod is the remainder of [FloorDiv], from 0 on.
func FloorMod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}

// ClockText is a wall second as 15:04, with seconds when there are any.
func ClockText(w int64) string {
	t := time.Unix(w, 0).UTC()
	if t.Second() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05")
}
