package rrule

import (
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/ical"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Limits of one recurrence. They are far above real rules and keep hostile text cheap.
const (
	maxRRule = 64 << 10 // bytes
	maxRules = 16       // RRULE lines
	maxDates = 10_000   // RDATE and EXDATE values
	maxCount = 100_000  // COUNT
	maxEach  = 1_000_000_000
)

// Options are the settings beside the text of a recurrence.
type Options struct {
	Clock  wall.Clock // its zone is that of times without one
	Start  time.Time  // DTSTART if the text has none
	After  time.Time  // there must be an occurrence after it
	Budget *Budget
}

// Budget is the rest of the allowed work, in steps of rule.search, and the most steps of one search. Several
// recurrences can share it.
type Budget struct{ Left, Search int }

// NewBudget is that of one recurrence.
func NewBudget() *Budget { return &Budget{countSteps, maxSteps} }

// Parse reads a recurrence as cron.ParseRRule describes it.
func Parse(text string, o Options) (*Series, error) {
	if len(text) > maxRRule {
		return nil, &refusal.Error{Field: "RRULE", Value: text, Msg: "is longer than 64 KiB"}
	}
	lines, err := rruleLines(text)
	if err != nil {
		return nil, err
	}
	b := recurrence{opts: o}
	for _, p := range lines {
		if err := b.add(p); err != nil {
			return nil, err
		}
	}
	r, err := b.build()
	if err != nil {
		return nil, err
	}
	if err := r.checkDue(o); err != nil {
		return nil, err
	}
	return r, nil
}

// rruleLines is the properties of the text that matter, DTSTART first.
func rruleLines(text string) ([]ical.Property, error) {
	var list []ical.Property
	inside := ""
	for _, line := range ical.Unfold(text) {
		upper := strings.ToUpper(line)
		switch {
		case inside != "":
			if upper == "END:"+inside {
				inside = ""
			}
			continue
		case upper == "BEGIN:VTIMEZONE", upper == "BEGIN:VALARM":
			inside = upper[len("BEGIN:"):] // these have DTSTART and RRULE of their own
			continue
		case strings.HasPrefix(upper, "FREQ=") || !strings.ContainsAny(line, ":") && strings.Contains(upper, "FREQ="):
			list = append(list, ical.Property{Name: "RRULE", Value: line, Pos: 1})
			continue
		}
		p, err := ical.ParseProperty(line)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b ical.Property) int { return dtstartFirst(a) - dtstartFirst(b) })
	return list, nil
}

func dtstartFirst(p ical.Property) int {
	if p.Name == "DTSTART" {
		return 0
	}
	return 1
}

// recurrence collects the properties of one series.
type recurrence struct {
	opts   Options
	loc    *time.Location // of DTSTART
	start  *ical.Stamp
	rules  []*rule
	texts  []string
	dates  []int64
	except []int64
	days   []int64
}

// countSteps bounds the work of reading one text: that each rule occurs, and where COUNT ends.
const countSteps = 500_000

func (b *recurrence) add(p ical.Property) error {
	switch p.Name {
	case "DTSTART":
		return b.dtstart(p)
	case "RRULE":
		return b.rrule(p)
	case "RDATE", "EXDATE":
		return b.datesOf(p)
	case "EXRULE":
		return &refusal.Error{Field: "EXRULE", Value: p.Value, Msg: "was removed from iCalendar (RFC 5545 appendix A.3)", Hint: "name the dates with EXDATE, or use a calendar"}
	}
	return nil
}

func (b *recurrence) dtstart(p ical.Property) error {
	if b.start != nil {
		return &refusal.Error{Field: "DTSTART", Value: p.Value, Msg: "comes twice; one recurrence has one (RFC 5545 section 3.6.1)", Hint: "give each event to a schedule of its own"}
	}
	s, err := ical.ParseStamp("DTSTART", p.Value, p.Pos)
	if err != nil {
		return err
	}
	b.start = &s
	b.loc, err = b.zoneOf(p, s)
	return err
}

// zoneOf is the zone a property's times are read in.
func (b *recurrence) zoneOf(p ical.Property, s ical.Stamp) (*time.Location, error) {
	tzid, named := p.Params["TZID"]
	switch {
	case s.UTC:
		return time.UTC, nil
	case named:
		loc, err := ical.Zone(tzid)
		if err != nil {
			refusal.As(err).Field = p.Name + " TZID"
		}
		return loc, err
	}
	return b.zone(), nil
}

// zone is the zone of DTSTART.
func (b *recurrence) zone() *time.Location {
	if b.loc == nil {
		b.loc = b.opts.Clock.Loc
	}
	return b.loc
}

// datesOf reads RDATE and EXDATE.
func (b *recurrence) datesOf(p ical.Property) error {
	for value := range strings.SplitSeq(p.Value, ",") {
		if len(b.dates)+len(b.except)+len(b.days) >= maxDates {
			return &refusal.Error{Field: p.Name, Msg: "names more than 10000 dates"}
		}
		text, _, _ := strings.Cut(value, "/") // a PERIOD; its start
		s, err := ical.ParseStamp(p.Name, strings.TrimSpace(text), p.Pos)
		if err != nil {
			return err
		}
		loc, err := b.zoneOf(p, s)
		if err != nil {
			return err
		}
		switch {
		case p.Name == "RDATE":
			b.dates = append(b.dates, s.Instant(loc))
		case s.Date:
			b.days = append(b.days, s.Wall/civil.DaySecs)
		default:
			b.except = append(b.except, s.Instant(loc))
		}
		p.Pos += len(value) + 1
	}
	return nil
}

// begin is DTSTART or its default. given is false if there is neither: then it is the Unix epoch on the wall clock.
func (b *recurrence) begin() (s ical.Stamp, given bool) {
	if b.start != nil {
		return *b.start, true
	}
	if t := b.opts.Start; !t.IsZero() {
		t = t.In(b.zone())
		_, off := t.Zone()
		return ical.Stamp{Wall: t.Unix() + int64(off)}, true
	}
	return ical.Stamp{}, false
}

// build sorts everything and writes the normal form.
func (b *recurrence) build() (*Series, error) {
	if len(b.rules) == 0 && len(b.dates) == 0 {
		return nil, &refusal.Error{Field: "RRULE", Msg: "is missing (RFC 5545 section 3.8.5.3)", Hint: `write for example "FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0"`}
	}
	r := &Series{rules: b.rules, dates: sorted(b.dates), except: sorted(b.except), days: sorted(b.days)}
	r.clock = b.opts.Clock
	r.clock.Loc = b.zone()
	lines := []string{}
	if s, given := b.begin(); given {
		lines = append(lines, dateLine("DTSTART", b.zone(), s.Wall))
	} else if b.zone() != time.UTC {
		lines = append(lines, dateLine("DTSTART", b.zone(), 0))
	}
	for _, t := range b.texts {
		lines = append(lines, "RRULE:"+t)
	}
	lines = append(lines, instantLines("RDATE", r.dates)...)
	lines = append(lines, instantLines("EXDATE", r.except)...)
	for _, d := range r.days {
		lines = append(lines, "EXDATE;VALUE=DATE:"+ical.FormatWall(d * civil.DaySecs)[:8])
	}
	r.text = strings.Join(lines, "\n")
	return r, nil
}

func sorted(list []int64) []int64 {
	slices.Sort(list)
	return slices.Compact(list)
}

func dateLine(name string, loc *time.Location, wall int64) string {
	if loc == time.UTC {
		return name + ":" + ical.FormatWall(wall) + "Z"
	}
	return name + ";TZID=" + loc.String() + ":" + ical.FormatWall(wall)
}

func instantLines(name string, list []int64) (lines []string) {
	for _, u := range list {
		lines = append(lines, name+":"+ical.FormatWall(u)+"Z")
	}
	return lines
}

// checkDue refuses a recurrence with nothing after o.After.
func (r *Series) checkDue(o Options) error {
	from := time.Unix(civil.MinSec, 0)
	if o.After.After(from) {
		from = o.After
	}
	if !r.Next(from).IsZero() {
		return nil
	}
	err := refusal.Never(&refusal.Error{Field: "RRULE", Value: strings.ReplaceAll(r.text, "\n", " "), Msg: "never occurs", Hint: "UNTIL or EXDATE leave nothing of it (RFC 5545 section 3.3.10)"})
	if !o.After.IsZero() && !r.Next(time.Unix(civil.MinSec, 0)).IsZero() {
		err.Msg = "never occurs after " + o.After.In(r.clock.Loc).Format("2006-01-02 15:04")
		err.Hint = "its last time was " + r.Prev(o.After).Format("2006-01-02 15:04 MST")
	}
	return err
}
