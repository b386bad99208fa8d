package base

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// OneDay is 24 hours, whatever the zone.
const OneDay = 24 * time.Hour

// HourOf returns the hour of an instant, counted since 1970.
func HourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

// NamespaceOr returns the given namespace, or the default one for "".
func NamespaceOr(given string) string {
	if given == "" {
		return core.DefaultNamespace
	}
	return given
}

// RollGrace is the delay from the end of an hour to its roll-up. No check may run longer; one that ended later is left out.
const RollGrace = 20 * time.Minute

const KeepHours = 100 * 24 * time.Hour // retention of hourly rows of monitors; daily rows are kept for ever

const TidyStep = 2000 // rows of a table that one pass checks or deletes

const LogHour = int64(time.Hour / time.Microsecond) // bytes of logs are counted by this time, one hour

// LaterOf returns the later of two times.
func LaterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
