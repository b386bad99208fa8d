package cron

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/fields"
	"github.com/belfry-run/belfry/cron/internal/ical"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/rrule"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Calendar is when something is closed: weekly hours, dates, and events that recur. It is immutable.
type Calendar struct {
	spec   CalendarSpec
	loc    *time.Location
	weekly []weekHours
	annual []annual
	dates  []dateRange // by first day
	events []event
}

// CalendarSpec is a calendar as text, to be stored and edited. The zero value is always open, in UTC.
type CalendarSpec struct {
	Zone     string    `json:"zone,omitempty" yaml:"zone,omitempty"` // IANA name; "" is UTC
	Closings []Closing `json:"closings" yaml:"closings"`
}

// Closing is one reason to be closed. Exactly one of Weekly, Dates and Rule is set.
type Closing struct {
	// Name is shown as the reason; "" shows the rule itself.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Weekly is weekdays as in cron, and hours if it is not the whole day: "SAT-SUN", "MON 18:00-24:00",
	// "* 22:00-06:00" (which ends on the next day).
	Weekly string `json:"weekly,omitempty" yaml:"weekly,omitempty"`
	// Dates is a day, a range with both ends, or either of them every year: "2027-12-25", "2027-12-24..2028-01-02",
	// "12-25", "12-24..01-02".
	Dates string `json:"dates,omitempty" yaml:"dates,omitempty"`
	// Rule is a recurrence as ParseRRule reads it, and Lasts how long each occurrence closes: "2h", "P1DT2H", whole
	// days as "P3D" or "3d" on the wall clock. Lasts "" is one day.
	Rule  string `json:"rule,omitempty" yaml:"rule,omitempty"`
	Lasts string `json:"lasts,omitempty" yaml:"lasts,omitempty"`
}

// Limits of one calendar: enough for every holiday of every country, and cheap to ask.
const (
	maxClosings   = 10_000
	maxEvents     = 1_000     // closings with a Rule
	eventSteps    = 200       // per question to one event, see rrule.Budget
	calendarSteps = 1_000_000 // to read all events
	maxHops       = 5_000     // closings that NextOpen steps over, fewer when there are many events
)

// weekHours is a closing time of the week: on some days, the wall seconds from <= s < to of the day.
type weekHours struct {
	days     uint8 // bit 0 = Sunday
	from, to int
	reason   string
}

// annual is a date range of every year, as month*32+day; from > to wraps over New Year.
type annual struct {
	from, to int
	reason   string
}

// dateRange is day numbers, both ends included. Reach is the last day of this range and all before it in the list.
type dateRange struct {
	from, to, reach int64
	reason          string
}

// event closes from each occurrence on for some days on the wall clock and some seconds of real time.
type event struct {
	rule   *rrule.Series
	days   int64
	secs   int64
	reason string
}

// NewCalendar reads a calendar. Closings that never happen are refused, as rules are.
func NewCalendar(spec CalendarSpec) (*Calendar, error) { return newCalendar(spec, false) }

// newCalendar can leave closings that never happen away: files of other people are full of them.
func newCalendar(spec CalendarSpec, lenient bool) (*Calendar, error) {
	loc, err := LoadZone(spec.Zone)
	if err != nil {
		return nil, err
	}
	if len(spec.Closings) > maxClosings {
		return nil, &Error{Field: "calendar", Msg: fmt.Sprintf("has more than %d closings", maxClosings)}
	}
	c := &Calendar{spec: spec, loc: loc}
	c.spec.Closings = nil
	work := &rrule.Budget{Left: calendarSteps, Search: eventSteps}
	for i, cl := range spec.Closings {
		err := c.add(cl, work)
		if lenient && refusal.IsNever(err) {
			continue
		}
		if err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.Place = fmt.Sprintf("closings[%d]", i)
			}
			return nil, err
		}
		c.spec.Closings = append(c.spec.Closings, cl)
	}
	c.sortDates()
	return c, nil
}

// Spec is the calendar as text; NewCalendar makes the same calendar of it.
func (c *Calendar) Spec() CalendarSpec {
	s := c.spec
	s.Closings = slices.Clone(s.Closings)
	return s
}

// Zone is the zone in which the calendar's days and hours are read.
func (c *Calendar) Zone() *time.Location { return c.loc }

func (c *Calendar) add(cl Closing, work *rrule.Budget) error {
	switch {
	case cl.Weekly != "" && cl.Dates == "" && cl.Rule == "":
		return c.addWeekly(cl)
	case cl.Dates != "" && cl.Weekly == "" && cl.Rule == "":
		return c.addDates(cl)
	case cl.Rule != "" && cl.Weekly == "" && cl.Dates == "":
		return c.addEvent(cl, work)
	}
	return &Error{Field: "closing", Value: cl.Name, Msg: "needs exactly one of weekly, dates and rule"}
}

func reasonOf(cl Closing, text string) string {
	if cl.Name != "" {
		return cl.Name
	}
	return text
}

func (c *Calendar) addWeekly(cl Closing) error {
	words := split(cl.Weekly)
	if len(words) == 0 || len(words) > 2 {
		return &Error{Field: "weekly", Value: cl.Weekly, Msg: "is not weekdays and hours", Hint: `write "SAT-SUN" or "MON 18:00-24:00"`}
	}
	col, err := fields.Read(fields.Weekday, words[0].text, words[0].pos)
	if err != nil {
		return err
	}
	w := weekHours{days: uint8(col.Bits("")), to: civil.DaySecs, reason: reasonOf(cl, "closed "+cl.Weekly)}
	if w.days == 0 {
		return &Error{Field: "weekly", Value: words[0].text, Pos: 1, Msg: "is not plain weekdays", Hint: "use a rule for days of a month"}
	}
	if len(words) == 2 {
		if w.from, w.to, err = hours(words[1]); err != nil {
			return err
		}
	}
	if w.from < w.to {
		c.weekly = append(c.weekly, w)
		return nil
	}
	late, early := w, w
	late.to, early.from = civil.DaySecs, 0
	early.days = (w.days<<1 | w.days>>6) & 127
	c.weekly = append(c.weekly, late)
	if early.to > 0 {
		c.weekly = append(c.weekly, early)
	}
	return nil
}

// hours reads 18:00-24:00 as seconds of the day.
func hours(w word) (from, to int, err error) {
	a, b, ok := strings.Cut(w.text, "-")
	from, ok1 := timeOfDay(a)
	to, ok2 := timeOfDay(b)
	if !ok || !ok1 || !ok2 || from == civil.DaySecs || from == to {
		return 0, 0, &Error{Field: "weekly", Value: w.text, Pos: w.pos, Msg: "is not a range of hours", Hint: `write "18:00-24:00"`}
	}
	return from, to, nil
}

// timeOfDay reads 9:30, 09:30 or 09:30:15, up to 24:00.
func timeOfDay(s string) (int, bool) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	total, unit := 0, 3600
	for i, p := range parts {
		n, ok := spell.Number(p)
		if !ok || len(p) > 2 || i > 0 && n > 59 {
			return 0, false
		}
		total += n * unit
		unit /= 60
	}
	return total, total <= civil.DaySecs
}

func (c *Calendar) addDates(cl Closing) error {
	from, to, ranged := strings.Cut(cl.Dates, "..")
	if !ranged {
		to = from
	}
	bad := &Error{Field: "dates", Value: cl.Dates, Msg: "is not a date or a range of dates", Hint: `write "2027-12-25", "2027-12-24..2028-01-02", "12-25" or "12-24..01-02"`}
	fy, fm, fd, ok1 := civilDate(strings.TrimSpace(from))
	ty, tm, td, ok2 := civilDate(strings.TrimSpace(to))
	if !ok1 || !ok2 || (fy == 0) != (ty == 0) {
		return bad
	}
	reason := reasonOf(cl, "closed on "+cl.Dates)
	if fy == 0 {
		c.annual = append(c.annual, annual{fm*32 + fd, tm*32 + td, reason})
		return nil
	}
	r := dateRange{from: civil.DayOf(fy, fm, fd), to: civil.DayOf(ty, tm, td), reason: reason}
	if r.from > r.to {
		bad.Msg, bad.Hint = "runs backwards", ""
		return bad
	}
	c.dates = append(c.dates, r)
	return nil
}

// civilDate reads 2027-12-25, or 12-25 as year 0.
func civilDate(s string) (y, m, d int, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	y, ok1 := spell.Number(parts[0])
	m, ok2 := spell.Number(parts[1])
	d, ok3 := spell.Number(parts[2])
	leap := y
	if parts[0] == "" {
		ok1, leap = true, 2000
	} else if y < civil.MinYear || y > civil.MaxYear {
		return 0, 0, 0, false
	}
	return y, m, d, ok1 && ok2 && ok3 && m >= 1 && m <= 12 && d >= 1 && d <= civil.DaysInMonth(leap, m)
}

func (c *Calendar) addEvent(cl Closing, work *rrule.Budget) error {
	if len(c.events) == maxEvents {
		return &Error{Field: "calendar", Msg: fmt.Sprintf("has more than %d recurring closings", maxEvents)}
	}
	e := event{days: 1, reason: cl.Name}
	if cl.Lasts != "" {
		var ok bool
		if e.days, e.secs, ok = ical.Lasting(cl.Lasts); !ok {
			return &Error{Field: "lasts", Value: cl.Lasts, Msg: "is not a duration above zero", Hint: `write "2h", "3d" or "P1DT2H"`}
		}
	}
	rule, err := rrule.Parse(cl.Rule, rrule.Options{Clock: wall.Clock{Loc: c.loc, Seams: wall.ICal}, Budget: work})
	if err != nil {
		return err
	}
	if e.reason == "" {
		e.reason = "closed by " + strings.ReplaceAll(rule.String(), "\n", " ")
	}
	e.rule = rule
	c.events = append(c.events, e)
	return nil
}

func (c *Calendar) sortDates() {
	slices.SortStableFunc(c.dates, func(a, b dateRange) int { return int(a.from - b.from) })
	reach := int64(-civil.None)
	for i := range c.dates {
		reach = max(reach, c.dates[i].to)
		c.dates[i].reach = reach
	}
}

// Closed reports whether t is in a closing, and the reason: of several the first weekly one, then yearly dates, dates and
// rules. It asks each recurring closing once or twice and searches the dates.
func (c *Calendar) Closed(t time.Time) (closed bool, reason string) {
	_, reason, closed = c.until(t.Unix(), false)
	return closed, reason
}

// NextOpen is the first instant at or after t that is not closed, or the zero time when 5,000 closings in a row leave
// no gap (with many recurring closings fewer, down to 50).
func (c *Calendar) NextOpen(t time.Time) time.Time {
	u, moved := t.Unix(), false
	for range c.hops() {
		end, _, closed := c.until(u, true)
		switch {
		case !closed && !moved:
			return t
		case !closed:
			return time.Unix(u, 0).In(c.loc)
		case end > civil.MaxSec:
			return time.Time{}
		}
		u, moved = end, true
	}
	return time.Time{}
}

// hops bounds how far NextOpen and NextClosed look, so that their work does not grow with the calendar.
func (c *Calendar) hops() int { return maxHops / (1 + len(c.events)/10) }

// NextClosed is the first instant at or after t that is closed, or the zero time when there is none. It serves a
// calendar that says when something may run.
func (c *Calendar) NextClosed(t time.Time) time.Time {
	if closed, _ := c.Closed(t); closed {
		return t
	}
	u := t.Unix() + 1
	for range c.hops() {
		at := c.nextStart(u)
		if at > civil.MaxSec {
			break
		}
		if _, _, closed := c.until(at, false); closed {
			return time.Unix(at, 0).In(c.loc)
		}
		u = at + 1 // a closing that the clock skipped
	}
	return time.Time{}
}

// nextStart is the first instant at or after u at which a closing begins, or none.
func (c *Calendar) nextStart(u int64) int64 {
	first, day := civil.None, civil.FloorDiv(u+wall.SpanAt(c.loc, u).Off, civil.DaySecs)
	begins := func(w int64) {
		if at := c.instantFrom(u, w); w >= u+wall.SpanAt(c.loc, u).Off {
			first = min(first, at)
		}
	}
	for _, w := range c.weekly {
		for d := day; d <= day+7; d++ {
			if w.days>>civil.WeekdayOf(d)&1 != 0 {
				begins(d*civil.DaySecs + int64(w.from))
			}
		}
	}
	y, _, _ := civil.DateOf(day)
	for _, a := range c.annual {
		for year := y; year <= y+8; year++ { // 29 February can be eight years away
			if m, d := a.from/32, a.from%32; d <= civil.DaysInMonth(year, m) {
				begins(civil.DayOf(year, m, d) * civil.DaySecs)
			}
		}
	}
	after, _ := slices.BinarySearchFunc(c.dates, day, func(r dateRange, day int64) int { return int(r.from - day) })
	for _, r := range c.dates[after:min(after+2, len(c.dates))] {
		begins(r.from * civil.DaySecs)
	}
	for i := range c.events {
		first = min(first, c.events[i].rule.At(u))
	}
	return first
}

// until asks all closings about instant u: whether one holds it and why, and if all are wanted the latest end of those
// that do.
func (c *Calendar) until(u int64, all bool) (end int64, reason string, closed bool) {
	wall := u + wall.SpanAt(c.loc, u).Off
	day := civil.FloorDiv(wall, civil.DaySecs)
	hit := func(why string, to int64) bool {
		if !closed {
			closed, reason, end = true, why, to
		}
		end = max(end, to)
		return !all
	}
	for _, w := range c.weekly {
		s := int(wall - day*civil.DaySecs)
		if w.days>>civil.WeekdayOf(day)&1 != 0 && w.from <= s && s < w.to && hit(w.reason, c.instantFrom(u, day*civil.DaySecs+int64(w.to))) {
			return end, reason, closed
		}
	}
	for _, a := range c.annual {
		if a.holds(day) && hit(a.reason, c.instantFrom(u, (day+1)*civil.DaySecs)) {
			return end, reason, closed
		}
	}
	after, _ := slices.BinarySearchFunc(c.dates, day+1, func(r dateRange, day int64) int { return int(r.from - day) })
	for i := after - 1; i >= 0 && c.dates[i].reach >= day; i-- {
		r := c.dates[i]
		if r.to >= day && hit(r.reason, c.instantFrom(u, (r.to+1)*civil.DaySecs)) {
			return end, reason, closed
		}
	}
	for i := range c.events {
		e := &c.events[i]
		if to, ok := e.holds(u); ok && hit(e.reason, to) {
			return end, reason, closed
		}
	}
	return end, reason, closed
}

// instantFrom is the first instant at or after u at which the wall clock has reached w.
func (c *Calendar) instantFrom(u, w int64) int64 {
	for {
		s := wall.SpanAt(c.loc, u)
		if at := max(u, w-s.Off); at < s.End {
			return at
		}
		u = s.End
	}
}

func (a annual) holds(day int64) bool {
	_, m, d := civil.DateOf(day)
	n := m*32 + d
	if a.from <= a.to {
		return a.from <= n && n <= a.to
	}
	return n >= a.from || n <= a.to
}

// holds reports whether an occurrence closes instant u, and until when. All last equally long on the wall clock, so the
// last one that has begun ends last; it is looked for only if there is one that can still last, counting a seam for
// what the clock may jump meanwhile.
func (e *event) holds(u int64) (end int64, ok bool) {
	if e.rule.At(u-e.days*civil.DaySecs-e.secs-wall.Seam) > u {
		return 0, false
	}
	at := wall.Last(e.rule.At, time.Unix(u+1, 0))
	if at == civil.None {
		return 0, false
	}
	end = e.endOf(at)
	return end, end > u
}

// endOf is when the closing of the occurrence at instant u ends.
func (e *event) endOf(u int64) int64 {
	if e.days == 0 {
		return u + e.secs
	}
	loc := e.rule.Zone()
	wall := u + wall.SpanAt(loc, u).Off + e.days*civil.DaySecs
	return ical.Stamp{Wall: wall}.Instant(loc) + e.secs
}
