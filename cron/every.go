package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/spread"
)

// Every is a fixed rate: the instants anchor + phase + k*interval for every whole k, before the anchor as well as after.
// It depends on nothing but its three numbers, so a restart or an edit elsewhere never shifts it.
type Every struct {
	step, base int64 // microseconds; base is one of the instants
	loc        *time.Location
}

// maxInterval keeps sums of microseconds far from overflow, and is longer than anybody waits.
const maxInterval = 100 * 365 * 24 * time.Hour

// NewEvery makes a fixed rate. The zero anchor means the Unix epoch. The phase is a stable hash of the seed in
// [0, interval), in whole seconds when the interval is, so that many schedules of one interval do not start together;
// seed "" means phase 0. The interval is a whole number of milliseconds, up to 100 years of 365 days.
func NewEvery(interval time.Duration, anchor time.Time, seed string) (*Every, error) {
	switch {
	case interval <= 0:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "must be more than nothing", Hint: "write for example 5m"}
	case interval%time.Millisecond != 0:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "is finer than a millisecond", Hint: "the shortest interval is 1ms"}
	case interval > maxInterval:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "is longer than 100 years"}
	}
	if anchor.IsZero() {
		anchor = time.Unix(0, 0).UTC()
	}
	if y := anchor.UTC().Year(); y < civil.MinYear || y > civil.MaxYear {
		return nil, &Error{Field: "anchor", Value: anchor.Format(time.RFC3339), Msg: "lies outside the years 1 to 9999"}
	}
	e := &Every{step: interval.Microseconds(), base: anchor.UnixMicro(), loc: anchor.Location()}
	e.base += phase(seed, e.step)
	return e, nil
}

// phase is a stable part of an interval of step microseconds.
func phase(seed string, step int64) int64 {
	if seed == "" {
		return 0
	}
	unit := int64(1000)
	if step%1e6 == 0 {
		unit = 1e6
	}
	return spread.Of(seed, "every", step/unit) * unit
}

// Interval is the time between two instants.
func (e *Every) Interval() time.Duration { return time.Duration(e.step) * time.Microsecond }

// Next is the first instant strictly after t.
func (e *Every) Next(t time.Time) time.Time {
	return e.time(civil.FloorDiv(floorMicro(t)-e.base, e.step) + 1)
}

// Prev is the last instant strictly before t.
func (e *Every) Prev(t time.Time) time.Time {
	us := floorMicro(t)
	if t.Nanosecond()%1000 > 0 {
		us++
	}
	return e.time(civil.FloorDiv(us-1-e.base, e.step))
}

// time is instant k, or zero outside the years this package knows.
func (e *Every) time(k int64) time.Time {
	us := e.base + k*e.step
	if us < civil.MinSec*1e6 || us > civil.MaxSec*1e6 {
		return time.Time{}
	}
	return time.UnixMicro(us).In(e.loc)
}

// floorMicro is the microsecond t lies in, kept within the years this package knows so that sums cannot overflow.
func floorMicro(t time.Time) int64 {
	sec := max(civil.MinSec-civil.DaySecs, min(civil.MaxSec+civil.DaySecs, t.Unix()))
	return sec*1e6 + int64(t.Nanosecond()/1000)
}

// String is the rule as Parse reads it, without anchor and seed.
func (e *Every) String() string { return "@every " + spell.Duration(e.Interval()) }

// Explain returns the rule in plain English.
func (e *Every) Explain() string {
	return "Every " + spell.SpokenDuration(e.Interval()) + "."
}
