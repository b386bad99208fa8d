package view

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// The test tables of this package write decisions as text. A time on Monday,
// 2 March 2026 is written as its time of day, a time on another day of that March
// with the day and a T in front, and any other time in full:
//
//	10:00   10:00:05   05T10:00   2099-01-01T00:00

// at parses a time of the tables.
func at(text string) time.Time {
	day, clock, ok := strings.Cut(text, "T")
	switch {
	case !ok:
		day, clock = "2026-03-02", text
	case len(day) == 2:
		day = "2026-03-" + day
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse("2006-01-02 "+layout, day+" "+clock); err == nil {
			return t
		}
	}
	panic("not a time: " + text)
}

func span(text string) core.Duration {
	d, err := core.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}
