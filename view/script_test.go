package view

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// The tables of this package write decisions as text. A time of Monday,
// 2 March 2026 is its time of day, one of another day of that March has the
// day before a T, and any other is written out:
//
//	10:00   10:00:05   05T10:00   2099-01-01T00:00

// at reads a time of the tables.
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
