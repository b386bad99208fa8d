package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Explain says the rule in plain English, with H resolved.
func (e *Expr) Explain() string {
	if e.every != nil {
		return e.every.Explain()
	}
	cols := e.columns()
	text := e.explainTime(cols)
	if !e.days.plain {
		text += explainDays(cols[3], cols[5], &e.days)
	} else if e.Fixed() || e.month != 0x1ffe {
		text += " every day"
	}
	text += explainMonths(cols[4])
	if len(cols) == 7 && e.years != nil {
		text += " in " + phrase(cols[6])
	}
	return capital(text) + ", " + e.clock.loc.String() + " time."
}

// columns reads the normal form again, as six or seven fields, and puts numbers in place of H.
func (e *Expr) columns() []column {
	words := split(e.text)
	if strings.HasPrefix(e.text, "CRON_TZ=") {
		words = words[1:]
	}
	if len(words) == 5 {
		words = append([]word{{"0", 1}}, words...)
	}
	cols := (&parser{}).tryColumns(words)
	sets := []uint64{e.sec, e.min, uint64(e.hour), uint64(e.days.dom), uint64(e.month), uint64(e.days.dow)}
	for i, set := range sets {
		cols[i] = cols[i].resolved(set)
	}
	return cols
}

// resolved shows the numbers that H stands for.
func (c column) resolved(set uint64) column {
	hash := false
	for _, i := range c.items {
		hash = hash || i.form == hashed
	}
	if !hash {
		return c
	}
	if i := c.items[0]; len(c.items) == 1 && i.step > 0 {
		first, last := bits.TrailingZeros64(set), 63-bits.LeadingZeros64(set)
		c.items = []item{{form: values, lo: first, hi: last, step: i.step}}
		return c
	}
	c.items = nil
	for ; set != 0; set &= set - 1 {
		n := bits.TrailingZeros64(set)
		c.items = append(c.items, item{form: values, lo: n, hi: n})
	}
	return c
}

// explainTime is "at 09:00 and 17:30" or "every 5 minutes from 09:00 to 17:59".
func (e *Expr) explainTime(cols []column) string {
	sec, min, hour := cols[0], cols[1], cols[2]
	if e.dayTimes.count() <= 6 {
		times := make([]string, e.dayTimes.count())
		for k := range times {
			times[k] = clockText(int64(e.dayTimes.at(k)))
		}
		return "at " + list(times)
	}
	var parts []string
	if !only(sec, 0) {
		parts = append(parts, cadence(sec, "second"))
	}
	if text := cadence(min, "minute"); text != "every minute" || len(parts) == 0 {
		parts = append(parts, text)
	}
	switch {
	case hour.star() && hour.items[0].step <= 1:
		if !min.moving() && only(sec, 0) {
			return pastTheHour(min)
		}
		if !min.moving() {
			parts = append(parts, "of every hour")
		}
	case len(hour.items) == 1 && hour.items[0].form == values && hour.items[0].step == 0:
		i := hour.items[0]
		parts = append(parts, fmt.Sprintf("from %02d:00 to %02d:59", i.lo, i.hi))
	case hour.star():
		parts = append(parts, "of every "+ordinal(hour.items[0].step)+" hour")
	default:
		parts = append(parts, "of hour "+phrase(hour))
	}
	return strings.Join(parts, " ")
}

func only(c column, n int) bool {
	return len(c.items) == 1 && c.items[0] == item{form: values, lo: n, hi: n}
}

func pastTheHour(min column) string {
	if only(min, 0) {
		return "every hour on the hour"
	}
	return "every hour at minute " + phrase(min)
}

// cadence is "every 5 minutes", or "at minute 5 and 10".
func cadence(c column, unit string) string {
	i := c.items[0]
	switch {
	case len(c.items) > 1 || i.form != star && i.step == 0:
		return "at " + unit + " " + phrase(c)
	case i.step <= 1 && i.form == star:
		return "every " + unit
	case i.form == star && c.size()%i.step == 0:
		return fmt.Sprintf("every %d %ss", i.step, unit)
	case i.form == star:
		return fmt.Sprintf("at every %s %s of its round, from 0", ordinal(i.step), unit)
	}
	if i.hi-i.lo+i.step == c.size() {
		return fmt.Sprintf("every %d %ss from %s %d on", i.step, unit, unit, i.lo)
	}
	return fmt.Sprintf("at every %s %s from %d to %d", ordinal(i.step), unit, i.lo, i.hi)
}

// explainDays is what the two day fields say together, when they do not say "every day".
func explainDays(dom, dow column, d *days) string {
	a, b := "", ""
	if !dom.star() || dom.items[0].step > 1 {
		a = "on " + phrase(dom) + " of the month"
	}
	if !dow.star() || dow.items[0].step > 1 {
		b = "on " + phrase(dow)
	}
	switch {
	case a == "" || b == "":
		return " " + a + b
	case d.and:
		return " " + a + ", but only " + b
	}
	return " " + a + " and also " + b
}

func explainMonths(c column) string {
	if c.star() && c.items[0].step <= 1 {
		return ""
	}
	return " in " + phrase(c)
}

// phrase lists the items of a column.
func phrase(c column) string {
	words := make([]string, len(c.items))
	for n, i := range c.items {
		words[n] = c.say(i)
	}
	return list(words)
}

// say is one item in words.
func (f *field) say(i item) string {
	one := func(n int) string { return longName(f, n) }
	switch i.form {
	case star, anyDay:
		return "every " + ordinal(max(i.step, 1)) + " " + f.noun()
	case values:
		switch {
		case i.step > 0:
			return fmt.Sprintf("every %s %s from %s to %s", ordinal(i.step), f.noun(), one(i.lo), one(i.hi))
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
		return "the workday nearest to the " + ordinal(i.lo)
	case lastOf:
		return "the last " + one(i.lo) + " of the month"
	case nthOf:
		return "the " + ordinal(i.hi) + " " + one(i.lo) + " of the month"
	}
	return "a hashed " + f.noun()
}

func beforeLast(n int, last string) string {
	if n == 0 {
		return last
	}
	return plural(n, "day") + " before " + last
}

// noun is the field's unit.
func (f *field) noun() string {
	switch {
	case f.day:
		return "day"
	case f.weekday:
		return "weekday"
	}
	return f.name
}

// longName is a value as people say it: Monday, March, the 15th, 2030.
func longName(f *field, n int) string {
	switch {
	case f.names != nil:
		return capital(strings.ToLower(fullName(f, n-f.min)))
	case f.day:
		return "day " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return strconv.Itoa(n) + suffix
}

// list joins words with commas and an "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
