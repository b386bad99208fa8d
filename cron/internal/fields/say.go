package fields

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/spell"
)

// phrase lists the items of a column.
func phrase(c Column) string {
	words := make([]string, len(c.items))
	for n, i := range c.items {
		words[n] = c.say(i)
	}
	return spell.List(words)
}

// say is one item in words.
func (f *Field) say(i item) string {
	one := func(n int) string { return longName(f, n) }
	switch i.form {
	case star, anyDay:
		return "every " + spell.Ordinal(max(i.step, 1)) + " " + f.noun()
	case values:
		switch {
		case i.step > 0:
			return fmt.Sprintf("every %s %s from %s to %s", spell.Ordinal(i.step), f.noun(), one(i.lo), one(i.hi))
		case i.lo != i.hi:
			return one(i.lo) + " to " + one(i.hi)
		}
		return one(i.lo)
	case lastDay:
		return beforeLast(i.lo, "the last day")
	case lastWork:
		if i.lo == 0 {
			return "the last workday"
		}
		return "the workday nearest to " + beforeLast(i.lo, "the last day")
	case nearWork:
		return "the workday nearest to the " + spell.Ordinal(i.lo)
	case lastOf:
		return "the last " + one(i.lo) + " of the month"
	case nthOf:
		return "the " + spell.Ordinal(i.hi) + " " + one(i.lo) + " of the month"
	}
	return "a hashed " + f.noun()
}

func beforeLast(n int, last string) string {
	if n == 0 {
		return last
	}
	return spell.Plural(n, "day") + " before " + last
}

// noun is the field's unit.
func (f *Field) noun() string {
	switch {
	case f.day:
		return "day"
	case f.weekday:
		return "weekday"
	}
	return f.Name
}

// longName is a value as people say it: Monday, March, the 15th, 2030.
func longName(f *Field, n int) string {
	switch {
	case f.names != nil:
		return spell.Capital(strings.ToLower(f.long[n-f.min]))
	case f.day:
		return "day " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
