package fields

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/spread"
)

// item is one part of a comma list.
type item struct {
	form    form
	lo, hi  int
	step    int  // 0 = no /n written
	ranged  bool // H(a-b), or a-b where a == b
	through bool // a/n or H/n: a step to the end of the field
}

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

// open reports that the item goes on through its whole field: a wildcard, or a step without a range, as a/n and H/n are. That
// is what makes a rule follow real time. A range names its times, with a step or without one.
func (i item) open() bool {
	return i.form == star || i.form == anyDay || i.through
}

// moving reports that the item stands for more than a number.
func (i item) moving() bool {
	return i.form == star || i.form == anyDay || i.step > 0 || i.form == values && (i.lo != i.hi || i.ranged)
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
