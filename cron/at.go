package cron

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// At is one or several single instants.
type At struct{ times []time.Time }

// NewAt sorts the times and drops duplicates. There must be at least one, in the years 1 to 9999.
// Like stored times they are kept to the microsecond.
func NewAt(times ...time.Time) (*At, error) {
	if len(times) == 0 {
		return nil, &Error{Field: "at", Msg: "names no time", Hint: "give at least one, for example 2027-03-01T09:00:00Z"}
	}
	list := make([]time.Time, len(times))
	for i, t := range times {
		if y := t.UTC().Year(); t.IsZero() || y < civil.MinYear || y > civil.MaxYear {
			return nil, &Error{Field: "at", Value: t.Format(time.RFC3339), Msg: "lies outside the years 1 to 9999"}
		}
		list[i] = t.Round(0).Truncate(time.Microsecond)
	}
	slices.SortFunc(list, time.Time.Compare)
	list = slices.CompactFunc(list, time.Time.Equal)
	return &At{list}, nil
}

// Next is the first of the times strictly after t, or zero.
func (a *At) Next(t time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(a.times, t, afterOrEqual)
	if i == len(a.times) {
		return time.Time{}
	}
	return a.times[i]
}

// Prev is the last of the times strictly before t, or zero.
func (a *At) Prev(t time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(a.times, t, time.Time.Compare)
	if i == 0 {
		return time.Time{}
	}
	return a.times[i-1]
}

// afterOrEqual orders so that a search for t ends behind an equal time.
func afterOrEqual(e, t time.Time) int {
	if e.After(t) {
		return 1
	}
	return -1
}

// Times is a copy of the instants, in order.
func (a *At) Times() []time.Time { return slices.Clone(a.times) }
