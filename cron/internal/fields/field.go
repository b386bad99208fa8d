// Package fields knows the fields of a cron expression: how each is read, written and said, and when all of them match.
package fields

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/spread"
)

// Field is one column of a cron expression: what it may say.
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

// form is the kind of one list item.
type form uint8

const (
	star     form = iota // *  */n
	anyDay               // ?
	values               // a  a-b  a-b/n  a/n
	hashed               // H  H(a-b)  H/n  H(a-b)/n
	lastDay              // L  L-n (n in lo)
	lastWork             // LW  L-nW (n in lo)
	nearWork             // nW (n in lo)
	lastOf               // nL: the last such weekday (n in lo)
	nthOf                // a#n: the nth such weekday (a in lo, n in hi)
)

// item is one part of a comma list.
type item struct {
	form    form
	lo, hi  int
	step    int  // 0 = no /n written
	ranged  bool // H(a-b), or a-b where a == b
	through bool // a/n or H/n: a step to the end of the field
}

// open says that the item goes on through its whole field: a wildcard, or a step without a range, as a/n and H/n are. That
// is what makes a rule follow real time. A range names its times, with a step or without one.
func (i item) open() bool {
	return i.form == star || i.form == anyDay || i.through
}

// moving says that the item stands for more than a number.
func (i item) moving() bool {
	return i.form == star || i.form == anyDay || i.step > 0 || i.form == values && (i.lo != i.hi || i.ranged)
}

// Column is a parsed field.
type Column struct {
	*Field
	items []item
	and   bool // weekday with a + in front
}

// star says whether the text starts with a star, in the sense of Vixie cron's rule for the two day fields.
func (c Column) star() bool { return c.items[0].form == star || c.items[0].form == anyDay }

func (c Column) open() bool {
	for _, i := range c.items {
		if i.open() {
			return true
		}
	}
	return false
}

func (c Column) moving() bool {
	for _, i := range c.items {
		if i.moving() {
			return true
		}
	}
	return false
}

// each calls yield for every plain number the item stands for. Weekday 7 comes as 0.
func (f *Field) each(i item, seed string, yield func(n int)) {
	lo, hi, step := i.lo, i.hi, max(i.step, 1)
	switch i.form {
	case star, anyDay:
		lo, hi = f.min, f.max
	case hashed:
		if i.step == 0 {
			lo += int(spread.Of(seed, f.Name, int64(hi-lo+1)))
			hi = lo
		} else {
			lo += int(spread.Of(seed, f.Name, int64(min(step, hi-lo+1))))
		}
	case values:
	default:
		return
	}
	if lo > hi {
		hi += f.size() // a range that wraps counts on past the end
	}
	for n := lo; n <= hi; n += step {
		yield((n-f.min)%f.size() + f.min)
	}
}

// size is how many different values the field has.
func (f *Field) size() int { return f.max - f.min + 1 }

// Bits is the set of plain numbers in the column.
func (c Column) Bits(seed string) uint64 {
	var set uint64
	for _, i := range c.items {
		c.each(i, seed, func(n int) { set |= 1 << n })
	}
	return set
}

// String is the column in normal form: upper case, weekdays and months by name, no needless parts.
func (c Column) String() string {
	var b strings.Builder
	if c.and {
		b.WriteByte('+')
	}
	for n, i := range c.items {
		if n > 0 {
			b.WriteByte(',')
		}
		c.write(&b, i)
	}
	return b.String()
}

func (f *Field) write(b *strings.Builder, i item) {
	num := strconv.Itoa
	switch i.form {
	case star:
		b.WriteByte('*')
	case anyDay:
		b.WriteByte('?')
	case values:
		b.WriteString(f.label(i.lo))
		if i.hi != i.lo || i.ranged || i.step > 0 {
			b.WriteString("-" + f.label(i.hi))
		}
	case hashed:
		b.WriteByte('H')
		if i.ranged {
			b.WriteString("(" + f.label(i.lo) + "-" + f.label(i.hi) + ")")
		}
	case lastDay, lastWork:
		b.WriteByte('L')
		if i.lo > 0 {
			b.WriteString("-" + num(i.lo))
		}
		if i.form == lastWork {
			b.WriteByte('W')
		}
	case nearWork:
		b.WriteString(num(i.lo) + "W")
	case lastOf:
		b.WriteString(f.label(i.lo) + "L")
	case nthOf:
		b.WriteString(f.label(i.lo) + "#" + num(i.hi))
	}
	if i.step > 0 {
		b.WriteString("/" + num(i.step))
	}
}

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

// Join is an expression in normal form.
func Join(cols []Column) string {
	words := make([]string, len(cols))
	for i, c := range cols {
		words[i] = c.String()
	}
	return strings.Join(words, " ")
}
