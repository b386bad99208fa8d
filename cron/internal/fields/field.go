// Package fields knows the fields of a cron expression: how each is read, written and said, and when all of them match.
package fields

import (
	"strconv"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Field describes one column of a cron expression: its range and names.
type Field struct {
	Name     string // as an error names it
	min, max int
	names    []string // names[i] stands for min+i; nil for plain numbers
	long     []string // the same, as whole words
	day      bool     // day of month: knows L, W
	weekday  bool     // knows L, #, 7 and +
}

var (
	monthNames   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

	secondField = &Field{Name: "second", max: 59}
	minuteField = &Field{Name: "minute", max: 59}
	hourField   = &Field{Name: "hour", max: 23}
	dayField    = &Field{Name: "day of month", min: 1, max: 31, day: true}
	monthField  = &Field{Name: "month", min: 1, max: 12, names: monthNames, long: spell.Months}
	Weekday     = &Field{Name: "weekday", max: 6, names: weekdayNames, long: spell.Weekdays, weekday: true}
	yearField   = &Field{Name: "year", min: civil.MinYear, max: civil.MaxYear}
)

// size is how many different values the field has.
func (f *Field) size() int { return f.max - f.min + 1 }

// label is a value by its name if it has one.
func (f *Field) label(n int) string {
	if f.names != nil {
		return f.names[n-f.min]
	}
	return strconv.Itoa(n)
}

// layouts are the fields of an expression by how many there are.
var layouts = map[int][]*Field{
	5: {minuteField, hourField, dayField, monthField, Weekday},
	6: {secondField, minuteField, hourField, dayField, monthField, Weekday},
	7: {secondField, minuteField, hourField, dayField, monthField, Weekday, yearField},
}

// Layout is the fields of an expression of n, or nil.
func Layout(n int) []*Field { return layouts[n] }
