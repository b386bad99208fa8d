// Package cron says when: cron expressions, RFC 5545 recurrence rules, fixed intervals, single instants and calendars,
// in any time zone.
//
// Everything here is a value computed from text. Nothing reads a clock or starts a goroutine, and every type is
// immutable, so it is safe for concurrent use once it has been made. The only I/O is that of the time package when
// [LoadZone] meets a zone for the first time, and of [ZoneVersion].
//
// # Daylight saving
//
// A rule is matched against the wall clock, and the wall clock is laid over real time one stretch of constant UTC offset
// at a time (package internal/wall). The result at the seams depends on the rule:
//
//   - A fixed-time rule names its seconds, minutes and hours as numbers and ranges, which may have a step, and without a
//     wildcard or a step through the whole field. When times of it are skipped by the clock (a gap) it runs once, at the
//     first instant after the gap, or not at all with [GapSkip]. When a time comes twice (a fold) it runs at the first, or
//     as [Fold] says. So does Debian's cron for changes of up to three hours. A gap of a whole day or more is a day that did not
//     exist (Apia, 2011-12-30): nothing is owed for it.
//   - Any other cron rule follows real time: it is absent in a gap and runs in both halves of a fold.
//   - An RRULE follows RFC 5545 section 3.3.5: a time in a gap is read with the offset before the gap (02:30 becomes
//     03:30), a time in a fold is the first of the two. Both knobs apply to it as well.
//
// # Bounds
//
// Times lie in the years 1 to 9999. One call of Next looks at no more than 2,000 stretches of constant offset (several
// centuries of daylight saving) and 4,812 months, and skips ahead over what cannot match, so the rarest rule there is
// (29 February on a given weekday) answers in microseconds, and a rule that never matches is refused by [Parse].
// [ParseRRule] states the bound of a recurrence.
package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Times is an endless or finite, strictly increasing series of instants.
type Times interface {
	// Next is the first instant strictly after t; the zero time means never again.
	Next(t time.Time) time.Time
	// Prev is the last instant strictly before t; the zero time means there is none.
	Prev(t time.Time) time.Time
}

// Gap is the policy of a fixed-time rule when the clock skips its time.
type Gap string

const (
	GapRunAfter Gap = "run_after" // once, at the first instant after the gap; the default, also written ""
	GapSkip     Gap = "skip"      // not on that day
)

// Fold is the policy of a fixed-time rule when the clock shows its time twice.
type Fold string

const (
	FoldFirst  Fold = "first"  // the default, also written ""
	FoldSecond Fold = "second" // the later of the two
	FoldBoth   Fold = "both"
)

// Options are the settings beside a rule's text. The zero value is UTC with the default answers to gaps and folds.
type Options struct {
	// Zone is where the rule's wall clock hangs; nil means UTC. A CRON_TZ= or TZ= prefix, or a TZID, wins over it.
	Zone *time.Location
	// Gap and Fold are the answers to daylight saving; see the package comment. They do not touch rules that
	// follow real time.
	Gap  Gap
	Fold Fold
	// Seed is the stable identity of the schedule. It resolves H and the phase of @every, and never changes them
	// between runs, versions or machines. "" is a seed too for H; for @every it means no phase.
	Seed string
	// Start is the DTSTART of an RRULE whose text has none, and ignored by Parse. It is read in Zone.
	Start time.Time
	// After refuses rules that have nothing left to do: there must be an occurrence after it.
	// The zero value refuses only rules that never match at all, after the year 1.
	After time.Time
}

// zone is the rule's location, UTC by default.
func (o Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// clock is the wall clock of a rule.
func (o Options) clock(s wall.Seams) wall.Clock {
	return wall.Clock{Loc: o.zone(), Gap: wall.Gap(o.Gap), Fold: wall.Fold(o.Fold), Seams: s}
}

// check refuses words that are not a Gap or a Fold.
func (o Options) check() error {
	switch o.Gap {
	case "", GapRunAfter, GapSkip:
	default:
		return &Error{Field: "dst_gap", Value: string(o.Gap), Msg: "is not an answer to a skipped time", Hint: `use "run_after" or "skip"`}
	}
	switch o.Fold {
	case "", FoldFirst, FoldSecond, FoldBoth:
	default:
		return &Error{Field: "dst_fold", Value: string(o.Fold), Msg: "is not an answer to a doubled time", Hint: `use "first", "second" or "both"`}
	}
	return nil
}

// Upcoming lists the next n instants of ts after from, fewer when the series ends.
func Upcoming(ts Times, from time.Time, n int) []time.Time {
	list := make([]time.Time, 0, max(0, min(n, 1024)))
	for len(list) < n {
		from = ts.Next(from)
		if from.IsZero() {
			break
		}
		list = append(list, from)
	}
	return list
}
