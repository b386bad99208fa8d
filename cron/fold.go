package cron

import "time"

// FirstOf is the first instant at which the clocks of t's zone show what they
// show at t: where they go back they show it twice, and package time does not say
// which of the two it reads.
func FirstOf(t time.Time) time.Time {
	back, _ := t.ZoneBounds()
	if back.IsZero() {
		return t
	}
	_, before := back.Add(-time.Nanosecond).Zone()
	_, after := t.Zone()
	if again := time.Duration(before-after) * time.Second; t.Sub(back) < again {
		return t.Add(-again)
	}
	return t
}
