package parts

import (
	"slices"
	"time"
)

// Month is one of a calendar, for the part "month".
type Month struct {
	Name string
	Days []MonthDay // from Monday, with empty ones before the first
	Big  bool       // days show more than their number
}

// MonthDay is a day of it.
type MonthDay struct {
	N    int    // 0: none
	Look string // a class
	Said string

	Good, Bad, Ahead string // of a big one
}

// NewMonth is the month that begins with a day of the wall.
func NewMonth(first time.Time, of func(day time.Time) MonthDay) Month {
	m := Month{Name: first.Format("January 2006"), Days: make([]MonthDay, int(first.Weekday()+6)%7)}
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		m.Days = append(m.Days, of(day))
	}
	for len(m.Days)%7 > 0 { // its last row is as long as the others
		m.Days = append(m.Days, MonthDay{})
	}
	return m
}

// Weeks are the rows of a month.
func (m Month) Weeks() [][]MonthDay { return slices.Collect(slices.Chunk(m.Days, 7)) }
