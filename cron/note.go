package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Note returns what daylight saving did to an occurrence, or "" when it did nothing: that its time does not exist on that
// day and when it runs instead, or which of two equal times it is.
func (e *Expr) Note(t time.Time) string {
	if e.every != nil {
		return ""
	}
	return e.clock.Note(&e.rule, t.Unix())
}

// Why explains whether instant t is one of the rule's, and if not which field keeps it out or what the clock did.
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
	s := wall.SpanAt(e.clock.Loc, t.Unix())
	wall := t.Unix() + s.Off
	if e.rule.WallFrom(wall) == wall {
		return "no: it is one of two " + civil.ClockText(wall) + ", and the rule runs at the " + string(e.otherHalf())
	}
	return "no: " + e.rule.Mismatch(wall)
}

// otherHalf is the half of a fold in which the rule runs.
func (e *Expr) otherHalf() Fold {
	if e.clock.Fold == "" {
		return FoldFirst
	}
	return Fold(e.clock.Fold)
}
