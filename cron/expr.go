package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/fields"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Expr is a cron expression, ready to be asked. It is immutable.
type Expr struct {
	rule  fields.Rule
	clock wall.Clock
	every *Every // set for @every, and then nothing above is
	text  string // normal form
}

// Next is the first occurrence strictly after t, in the rule's zone; zero when there is none up to the year 9999.
func (e *Expr) Next(t time.Time) time.Time {
	if e.every != nil {
		return e.every.Next(t)
	}
	return e.clock.First(&e.rule, t)
}

// Prev is the last occurrence strictly before t, in the rule's zone; zero when there is none. It costs a few dozen
// times what Next costs.
func (e *Expr) Prev(t time.Time) time.Time {
	if e.every != nil {
		return e.every.Prev(t)
	}
	u := wall.Last(func(u int64) int64 { return e.clock.Next(&e.rule, u) }, t)
	if u == civil.None {
		return time.Time{}
	}
	return time.Unix(u, 0).In(e.clock.Loc)
}

// String is the expression in normal form: one space between fields, upper case, names for months and weekdays, macros
// written out, and its zone in front if the text had one. Parsing it again gives the same rule.
func (e *Expr) String() string { return e.text }

// Zone is the time zone the rule is read in.
func (e *Expr) Zone() *time.Location { return e.clock.Loc }

// Fixed reports whether this is a fixed-time rule, which runs exactly once for each of its times whatever the clock does
// (see the package comment), and not one that follows real time.
func (e *Expr) Fixed() bool { return e.clock.Seams == wall.Fixed }
