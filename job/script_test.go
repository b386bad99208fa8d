package job

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/schedule"
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

// told formats a decision: occurrences, formerly buffered occurrences, jobs to end,
// high-water mark, next finish, runs, next time, and the state if not active.
func told(f schedule.Firing) string {
	var parts []string
	for _, o := range f.Occurrences {
		parts = append(parts, occurrenceText(o))
	}
	for _, o := range f.Unbuffered {
		parts = append(parts, "was "+occurrenceText(o))
	}
	if len(f.Cancel) > 0 {
		parts = append(parts, strings.Trim(fmt.Sprint("cancel ", f.Cancel), "]"))
	}
	if len(f.Terminate) > 0 {
		parts = append(parts, strings.Trim(fmt.Sprint("terminate ", f.Terminate), "]"))
	}
	parts = append(parts, "mark "+in(f.HighWater))
	if !f.FinishAt.IsZero() {
		parts = append(parts, "finish "+in(f.FinishAt))
	}
	if f.Runs > 0 {
		parts = append(parts, fmt.Sprint("runs ", f.Runs))
	}
	parts = append(parts, "next "+in(f.NextAt))
	if f.State != schedule.Active {
		parts = append(parts, string(f.State))
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), "[", "")
}

func occurrenceText(o schedule.Occurrence) string {
	text := in(o.Nominal)
	if o.Count > 1 {
		text += fmt.Sprintf("..%s x%d", in(o.Until), o.Count)
	}
	if o.DueAt.Sub(o.Nominal) != 0 {
		text += " due " + in(o.DueAt)
	}
	text += " " + string(o.Decision)
	if o.Reason != "" {
		text += " " + string(o.Reason)
	}
	return text
}

// checkRows checks the invariants of every decision.
func checkRows(t interface {
	Helper()
	Errorf(format string, args ...any)
}, f schedule.Firing, now time.Time) {
	t.Helper()
	for _, o := range slices.Concat(f.Occurrences, f.Unbuffered) {
		switch {
		case o.ScheduleID != 1:
			t.Errorf("%s belongs to schedule %d", occurrenceText(o), o.ScheduleID)
		case !o.DecidedAt.Equal(now):
			t.Errorf("%s was decided at %s and not at %s", occurrenceText(o), in(o.DecidedAt), in(now))
		case (o.Decision == schedule.DecidedSkipped) != (o.Reason != ""):
			t.Errorf("%s: a skip and nothing else has a reason", occurrenceText(o))
		case o.Count < 1 || (o.Count > 1) != !o.Until.IsZero():
			t.Errorf("%s stands for %d times until %s", occurrenceText(o), o.Count, in(o.Until))
		case o.Reason == schedule.ReasonOverlap && o.Note == "":
			t.Errorf("%s does not say what was in the way", occurrenceText(o))
		}
	}
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
