package alert

import (
	"flag"
	"os"
	"strings"
	"testing"
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

// in formats a time for at.
func in(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	layout := "15:04"
	if t.Second() != 0 || t.Nanosecond() != 0 {
		layout = "15:04:05.999999"
	}
	switch {
	case t.Format(time.DateOnly) == "2026-03-02":
		return t.Format(layout)
	case t.Format("2006-01") == "2026-03":
		return t.Format("02T" + layout)
	}
	return t.Format("2006-01-02T" + layout)
}

func span(text string) core.Duration {
	d, err := core.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// TestMain runs the property tests of this package more often than rapid does by
// default, because a run is cheap here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}
