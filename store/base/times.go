package base

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

const OneDay = 24 * time.Hour

// HourOf is the hour that an instant falls in, since 1970.
func HourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

func NamespaceOr(given string) string {
	if given == "" {
		return core.DefaultNamespace
	}
	return given
}

// RollGrace is how long after its end an hour is rolled up. A check that ended
// later than that stays out of it: none may run that long.
const RollGrace = 20 * time.Minute

const KeepHours = 100 * 24 * time.Hour // of monitors' results; days stay for ever

const TidyStep = 2000 // rows of each that one pass removes

const LogHour = int64(time.Hour / time.Microsecond) // by which bytes of logs are counted

func LaterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
