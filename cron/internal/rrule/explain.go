package rrule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Explain returns the recurrence in plain English.
func (r *Series) Explain() string {
	var parts []string
	for _, rule := range r.rules {
		parts = append(parts, rule.explain())
	}
	if n := len(r.dates); n > 0 {
		parts = append(parts, "at "+spell.Plural(n, "single time"))
	}
	text := spell.Capital(strings.Join(parts, ", and ")) + ", " + r.clock.Loc.String() + " time"
	if n := len(r.except) + len(r.days); n > 0 {
		text += ", except at " + spell.Plural(n, "time")
	}
	return text + "."
}

func (r *rule) explain() string {
	unit := [...]string{"second", "minute", "hour", "day", "week", "month", "year"}[r.freq]
	text := "every " + unit
	if r.interval > 1 {
		text = fmt.Sprintf("every %d %ss", r.interval, unit)
	}
	text += r.explainDays()
	if r.Count() <= 6 {
		times := make([]string, r.Count())
		for k := range times {
			times[k] = civil.ClockText(int64(r.At(k)))
		}
		text += " at " + spell.List(times)
	} else {
		text += setText(uint64(r.Hour), 24, " in hour ") + setText(r.Min, 60, " at minute ")
		if r.Sec != 1 {
			text += setText(r.Sec, 60, " at second ")
		}
	}
	if len(r.setpos) > 0 {
		text += ", of these only " + positions(r.setpos)
	}
	return text + r.explainEnds()
}

// explainDays is the sets that are not "all".
func (r *rule) explainDays() string {
	var text string
	if r.month != 0x1ffe {
		text += " in " + numbers(uint64(r.month), spell.Month)
	}
	if r.week.used {
		text += " in " + r.week.text("week")
	}
	if r.yday.used {
		text += " on " + r.yday.text("day") + " of the year"
	}
	if r.dom.used {
		text += " on " + r.dom.text("day")
	}
	if r.dow == 127 {
		return text
	}
	var names []string
	if r.dow != 0 {
		names = append(names, numbers(uint64(r.dow), spell.Weekday))
	}
	for _, w := range r.nth {
		names = append(names, "the "+fromEnd(w.n)+" "+spell.Weekday(w.weekday))
	}
	return text + " on " + spell.List(names)
}

// explainEnds is when it starts and stops.
func (r *rule) explainEnds() string {
	var text string
	if r.start != 0 {
		text = ", from " + wallText(r.start)
	}
	switch {
	case r.until != civil.None:
		text += ", until " + time.Unix(r.until, 0).UTC().Format("2006-01-02 15:04 UTC")
	case r.last != civil.None:
		text += ", until " + wallText(r.last)
	}
	return text
}

func wallText(w int64) string { return time.Unix(w, 0).UTC().Format("2006-01-02 15:04") }

// setText lists a set unless it is everything.
func setText(set uint64, size int, before string) string {
	if set == 1<<size-1 {
		return ""
	}
	return before + numbers(set, strconv.Itoa)
}

// numbers lists the members of a set.
func numbers(set uint64, name func(int) string) string {
	var words []string
	for ; set != 0; set &= set - 1 {
		words = append(words, name(bits.TrailingZeros64(set)))
	}
	return spell.List(words)
}

// text lists the members, those from the end in words.
func (s *signed) text(unit string) string {
	var words []string
	for n := 1; n <= 366; n++ {
		if s.pos[n/64]>>(n%64)&1 != 0 {
			words = append(words, unit+" "+strconv.Itoa(n))
		}
	}
	for n := 1; n <= 366; n++ {
		if s.neg[n/64]>>(n%64)&1 != 0 {
			words = append(words, "the "+fromEnd(-n)+" "+unit)
		}
	}
	return spell.List(words)
}

// positions is BYSETPOS in words.
func positions(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = "the " + fromEnd(n)
	}
	return strings.Join(words, ", ")
}

// fromEnd is 2 as "2nd" and -2 as "2nd last".
func fromEnd(n int) string {
	switch {
	case n > 0:
		return spell.Ordinal(n)
	case n == -1:
		return "last"
	}
	return spell.Ordinal(-n) + " last"
}
