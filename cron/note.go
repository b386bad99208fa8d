package cron

import (
	"fmt"
	"time"
)

// Note says what daylight saving did to an occurrence, or "" when it did nothing: that its time does not exist on that
// day and when it runs instead, or which of two equal times it is.
func (e *Expr) Note(t time.Time) string {
	if e.every != nil {
		return ""
	}
	return e.clock.note(e, t.Unix())
}

// Note says what daylight saving did to an occurrence, or "" when it did nothing.
func (r *RRule) Note(t time.Time) string {
	for _, rule := range r.rules {
		if s := r.clock.note(rule, t.Unix()); s != "" {
			return s
		}
	}
	return ""
}

func (c *clock) note(r walls, u int64) string {
	s := spanAt(c.loc, u)
	before := offsetBefore(c.loc, s)
	wall := u + s.off
	if before < s.off {
		if text := c.gapNote(r, s, before, u); text != "" {
			return text
		}
	}
	if before > s.off && wall < s.start+before {
		return fmt.Sprintf("second of two %s: the clock goes back from %s to %s", clockText(wall), clockText(s.start+before), clockText(s.start+s.off))
	}
	if s.end == none {
		return ""
	}
	if after := spanAt(c.loc, s.end).off; wall >= s.end+after {
		return fmt.Sprintf("first of two %s: the clock goes back from %s to %s", clockText(wall), clockText(s.end+s.off), clockText(s.end+after))
	}
	return ""
}

// gapNote is the note of an instant in a span that began with a gap.
func (c *clock) gapNote(r walls, s span, before, u int64) string {
	skipped := none
	switch {
	case c.seams == fixed && u == s.start:
		skipped = r.wallFrom(u + before)
	case c.seams == ical && r.wallFrom(u+before) == u+before:
		skipped = u + before
	}
	if skipped >= s.start+s.off {
		return ""
	}
	return fmt.Sprintf("%s does not exist on %s in %s: runs at %s",
		clockText(skipped), time.Unix(skipped, 0).UTC().Format("2006-01-02"), c.loc, clockText(u+s.off))
}

// clockText is a wall second as 15:04, with seconds when there are any.
func clockText(w int64) string {
	t := time.Unix(w, 0).UTC()
	if t.Second() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05")
}

// Why says in words whether instant t is one of the rule's, and if not which field keeps it out or what the clock did.
func (e *Expr) Why(t time.Time) string {
	if e.Prev(t.Add(time.Nanosecond)).Equal(t) {
		if note := e.Note(t); note != "" {
			return "yes: " + note
		}
		return "yes"
	}
	if e.every != nil {
		return "no: it is not a whole number of intervals from the anchor"
	}
	if t.Nanosecond() != 0 {
		return "no: rules name whole seconds"
	}
	s := spanAt(e.clock.loc, t.Unix())
	wall := t.Unix() + s.off
	if e.wallFrom(wall) == wall {
		return "no: it is one of two " + clockText(wall) + ", and the rule runs at the " + string(e.otherHalf())
	}
	return "no: " + e.mismatch(wall)
}

// otherHalf is the half of a fold in which the rule runs.
func (e *Expr) otherHalf() Fold {
	if e.clock.fold == "" {
		return FoldFirst
	}
	return e.clock.fold
}

// mismatch names the first field, from the largest, that a wall second fails.
func (e *Expr) mismatch(wall int64) string {
	day := floorDiv(wall, daySecs)
	y, m, d := dateOf(day)
	s := int(wall - day*daySecs)
	switch {
	case !e.hasYear(y):
		return fmt.Sprintf("the year %d is not in the rule", y)
	case e.month>>m&1 == 0:
		return longName(monthField, m) + " is not in the rule"
	case e.days.of(y, m)>>d&1 == 0:
		return fmt.Sprintf("%s the %s is not a day of the rule", longName(weekdayField, weekdayOf(day)), ordinal(d))
	case e.hour>>(s/3600)&1 == 0:
		return fmt.Sprintf("hour %d is not in the rule", s/3600)
	case e.min>>(s/60%60)&1 == 0:
		return fmt.Sprintf("minute %d is not in the rule", s/60%60)
	}
	return fmt.Sprintf("second %d is not in the rule", s%60)
}
