package rrule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/ical"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// draft is a rule being read.
type draft struct {
	*rule
	parts                   map[string]part
	date                    bool // DTSTART is a whole day
	count                   int
	local                   *ical.Stamp // UNTIL
	hours, minutes, seconds uint64
}

func (d *draft) has(key string) bool { return d.parts[key].value != "" }

// read takes the values in; it does not ask whether they fit together.
func (d *draft) read() error {
	f := d.parts["FREQ"]
	i := slices.Index(freqNames, f.value)
	if i < 0 {
		f.key = "FREQ"
		return f.wrong("must be one of "+strings.Join(freqNames, " "), spell.DidYouMean(spell.Nearest(f.value, freqNames), ""))
	}
	d.freq, d.interval, d.month, d.dow = freq(i), 1, 0x1ffe, 127
	for _, read := range []func() error{
		func() error { return d.positive("INTERVAL", maxEach, func(n int) { d.interval = int64(n) }) },
		func() error { return d.positive("COUNT", maxCount, func(n int) { d.count = n }) },
		d.readUntil, d.readWkst, d.readDays,
		func() error { return d.set("BYSECOND", 0, 60, &d.seconds) },
		func() error { return d.set("BYMINUTE", 0, 59, &d.minutes) },
		func() error { return d.set("BYHOUR", 0, 23, &d.hours) },
		func() error { return d.each("BYMONTHDAY", 31, d.dom.add) },
		func() error { return d.each("BYYEARDAY", 366, d.yday.add) },
		func() error { return d.each("BYWEEKNO", 53, d.week.add) },
		func() error { return d.each("BYSETPOS", 366, func(n int) { d.setpos = once(d.setpos, n) }) },
		d.readMonths,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// positive reads INTERVAL and COUNT.
func (d *draft) positive(key string, top int, use func(n int)) error {
	if !d.has(key) {
		return nil
	}
	p := d.parts[key]
	n, err := strconv.ParseUint(p.value, 10, 31)
	if err != nil || n == 0 || int(n) > top {
		return p.wrong(fmt.Sprintf("must be a whole number from 1 to %d", top), "")
	}
	use(int(n))
	return nil
}

// each reads a list of numbers that count from either end.
func (d *draft) each(key string, top int, use func(n int)) error {
	if !d.has(key) {
		return nil
	}
	p := d.parts[key]
	for s := range strings.SplitSeq(p.value, ",") {
		n, ok := spell.Number(strings.TrimLeft(s, "+-"))
		if !ok || n == 0 || n > top || len(s)-len(strings.TrimLeft(s, "+-")) > 1 {
			return p.wrong(fmt.Sprintf("takes numbers from 1 to %d, or from -%d to -1, not %q", top, top, s), "")
		}
		if s[0] == '-' {
			n = -n
		}
		use(n)
	}
	return nil
}

// once appends a new element: so a list cannot be longer than the range of its elements.
func once[E comparable](list []E, e E) []E {
	if slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

// set reads a list of plain numbers.
func (d *draft) set(key string, low, top int, bits *uint64) error {
	if !d.has(key) {
		return nil
	}
	p := d.parts[key]
	for s := range strings.SplitSeq(p.value, ",") {
		n, ok := spell.Number(s)
		if !ok || n < low || n > top {
			return p.wrong(fmt.Sprintf("takes numbers from %d to %d, not %q", low, top, s), "")
		}
		*bits |= 1 << min(n, 59) // second 60 is second 59
	}
	return nil
}

func (d *draft) readMonths() error {
	if !d.has("BYMONTH") {
		return nil
	}
	var set uint64
	err := d.set("BYMONTH", 1, 12, &set)
	d.month = uint16(set)
	return err
}

// weekdayCodes are the weekdays of RFC 5545, from Sunday.
var weekdayCodes = strings.Fields("SU MO TU WE TH FR SA")

func (d *draft) readWkst() error {
	if !d.has("WKST") {
		return nil
	}
	p := d.parts["WKST"]
	if d.wkst = slices.Index(weekdayCodes, p.value); d.wkst < 0 {
		return p.wrong("must be one of "+strings.Join(weekdayCodes, " "), "")
	}
	return nil
}

// readDays reads BYDAY: MO, 2TU, -1FR.
func (d *draft) readDays() error {
	if !d.has("BYDAY") {
		return nil
	}
	p := d.parts["BYDAY"]
	d.dow = 0
	for s := range strings.SplitSeq(p.value, ",") {
		day := slices.Index(weekdayCodes, s[max(0, len(s)-2):])
		if day < 0 {
			return p.wrong(fmt.Sprintf("takes weekdays like MO, 2TU or -1FR, not %q", s), "")
		}
		if len(s) == 2 {
			d.dow |= 1 << day
			continue
		}
		n, err := strconv.Atoi(s[:len(s)-2])
		if err != nil || n == 0 || n < -53 || n > 53 {
			return p.wrong(fmt.Sprintf("takes numbers from 1 to 53, or from -53 to -1, before a weekday, not %q", s), "")
		}
		d.nth = once(d.nth, nthWeekday{n, day})
	}
	return nil
}

// readUntil reads UNTIL; end uses it.
func (d *draft) readUntil() error {
	if !d.has("UNTIL") {
		return nil
	}
	p := d.parts["UNTIL"]
	s, err := ical.ParseStamp("UNTIL", p.value, p.pos)
	d.local = &s
	return err
}

// lawful refuses rules that RFC 5545 section 3.3.10 forbids, and parts that need a DTSTART in a rule without one.
func (d *draft) lawful(given bool) error {
	freq := d.parts["FREQ"].value
	switch {
	case d.has("COUNT") && d.has("UNTIL"):
		return d.parts["COUNT"].wrong("must not stand beside UNTIL", "keep the one that ends the rule")
	case d.week.used && d.freq != yearly:
		return d.parts["BYWEEKNO"].wrong("needs FREQ=YEARLY, not "+freq, "")
	case d.yday.used && (d.freq == daily || d.freq == weekly || d.freq == monthly):
		return d.parts["BYYEARDAY"].wrong("must not stand with FREQ="+freq, "use FREQ=YEARLY")
	case d.dom.used && d.freq == weekly:
		return d.parts["BYMONTHDAY"].wrong("must not stand with FREQ=WEEKLY", "use FREQ=MONTHLY")
	case d.nth != nil && d.freq != monthly && d.freq != yearly:
		return d.parts["BYDAY"].wrong("must not number its weekdays with FREQ="+freq, "use FREQ=MONTHLY or YEARLY, or weekdays without numbers")
	case d.nth != nil && d.week.used:
		return d.parts["BYDAY"].wrong("must not number its weekdays beside BYWEEKNO", "")
	case d.setpos != nil && !d.anyBy():
		return d.parts["BYSETPOS"].wrong("must stand with another BY part", "")
	case !given && d.needsStart() != "":
		return d.parts["FREQ"].wrong("needs a DTSTART: "+d.needsStart(), "add a line like DTSTART;TZID=Europe/Sofia:20270301T090000 (section 3.8.2.4)")
	}
	return nil
}

func (d *draft) anyBy() bool {
	for _, key := range partOrder {
		if strings.HasPrefix(key, "BY") && key != "BYSETPOS" && d.has(key) {
			return true
		}
	}
	return false
}

// needsStart returns a part that needs a DTSTART, or "".
func (d *draft) needsStart() string {
	day := d.has("BYDAY") || d.dom.used || d.yday.used
	switch {
	case d.count > 0:
		return "COUNT counts from it"
	case d.interval > 1:
		return "INTERVAL counts from it"
	case !day && d.freq == weekly:
		return "it brings the weekday"
	case !day && d.freq == monthly:
		return "it brings the day of the month"
	case !day && d.freq == yearly:
		return "it brings the day of the year"
	}
	return ""
}

// derive fills missing parts of the rule from DTSTART (RFC 5545 section 3.3.10).
func (d *draft) derive() {
	day := civil.FloorDiv(d.start, civil.DaySecs)
	_, m, dom := civil.DateOf(day)
	s := int(d.start - day*civil.DaySecs)
	if !d.has("BYDAY") && !d.dom.used && !d.yday.used {
		switch {
		case d.freq == weekly || d.week.used:
			d.dow = 1 << civil.WeekdayOf(day)
		case d.freq == monthly:
			d.dom.add(dom)
		case d.freq == yearly:
			d.dom.add(dom)
			if !d.has("BYMONTH") {
				d.month = 1 << m
			}
		}
	}
	d.inYear = d.freq == yearly && !d.has("BYMONTH")
	d.weigh()
	d.DayTimes = civil.NewDayTimes(
		d.times(d.hours, s/3600, 24, hourly), d.times(d.minutes, s/60%60, 60, minutely), d.times(d.seconds, s%60, 60, secondly))
}

// weigh makes long lists pay for themselves: a step goes through the numbered weekdays of each month it looks at, and
// through the positions. Eight of them cost as much as the rest of a step.
func (d *draft) weigh() {
	months := 1
	if d.freq == yearly && d.setpos != nil {
		months = 12
	}
	d.weight = 1 + (len(d.nth)*months+len(d.setpos))/8
}

// times is a BY part of the time of day: as given, or everything when the period is that short, or as in DTSTART.
func (d *draft) times(set uint64, start, n int, unit freq) uint64 {
	switch {
	case set != 0:
		return set
	case d.freq <= unit:
		return 1<<n - 1
	}
	return 1 << start
}

// occurs refuses a rule that names no time at all.
func (d *draft) occurs(b *recurrence) error {
	if at, _ := d.find(b, d.start); at == civil.None {
		return refusal.Never(&refusal.Error{Field: "RRULE", Value: d.String(), Msg: "never occurs: its parts and DTSTART exclude each other (RFC 5545 section 3.3.10)"})
	}
	return nil
}

// goesOn refuses a rule whose second time takes longer to find than a search may. It would end after the first without a
// word, which is DTSTART as a rule, and is found at once.
func (d *draft) goesOn(b *recurrence) error {
	first, _ := d.find(b, d.start)
	if _, exhausted := d.find(b, first+1); exhausted {
		return &refusal.Error{Field: "RRULE", Value: d.String(), Msg: "takes too long to compute: its INTERVAL and its other parts meet too seldom", Hint: "use a longer FREQ with a shorter INTERVAL"}
	}
	return nil
}

// find is the first time from w on. The work may be exhausted before one is found.
func (d *draft) find(b *recurrence, w int64) (at int64, exhausted bool) {
	allowed := min(d.steps, b.opts.Budget.Left)
	at, left := d.search(w, allowed)
	b.opts.Budget.Left -= allowed - left
	return at, at == civil.None && left <= 0
}

// end settles UNTIL and COUNT.
func (d *draft) end(b *recurrence) error {
	if s := d.local; s != nil {
		switch {
		case s.UTC:
			d.until, d.last = s.Wall, s.Wall+wall.Seam
		case s.Date:
			d.last = s.Wall + civil.DaySecs - 1
		default:
			d.last = s.Wall
		}
		if d.last < d.start {
			return refusal.Never(d.parts["UNTIL"].wrong("lies before DTSTART", ""))
		}
		return nil
	}
	if d.count == 0 {
		return nil
	}
	w := d.start - 1
	for range d.count {
		at, left := d.search(w+1, min(d.steps, b.opts.Budget.Left))
		b.opts.Budget.Left -= min(d.steps, b.opts.Budget.Left) - left + d.weight
		switch {
		case b.opts.Budget.Left <= 0:
			return d.parts["COUNT"].wrong("takes too long to count out", "use UNTIL")
		case at == civil.None:
			return nil
		}
		w = at
	}
	d.last = w
	return nil
}

// String is the rule in normal form.
func (d *draft) String() string {
	var list []string
	for _, key := range partOrder {
		if d.has(key) && !(key == "INTERVAL" && d.interval == 1) {
			list = append(list, key+"="+d.parts[key].value)
		}
	}
	return strings.Join(list, ";")
}

// rrule reads one RRULE value.
func (b *recurrence) rrule(p ical.Property) error {
	if len(b.rules) == maxRules {
		return &refusal.Error{Field: "RRULE", Msg: "comes more than 16 times; one is enough (RFC 5545 section 3.8.5.3)"}
	}
	parts, err := ruleParts(p)
	if err != nil {
		return err
	}
	begin, given := b.begin()
	d := draft{rule: &rule{start: begin.Wall, last: civil.None, until: civil.None, wkst: 1, steps: b.opts.Budget.Search}, parts: parts, date: begin.Date}
	if err := d.read(); err != nil {
		return err
	}
	if d.date { // section 3.3.10: they "MUST be ignored" then
		d.hours, d.minutes, d.seconds = 0, 0, 0
	}
	if err := d.lawful(given); err != nil {
		return err
	}
	d.derive()
	if err := d.occurs(b); err != nil {
		return err
	}
	if err := d.end(b); err != nil {
		return err
	}
	if err := d.goesOn(b); err != nil {
		return err
	}
	b.rules = append(b.rules, d.rule)
	b.texts = append(b.texts, d.String())
	return nil
}
