package schedule

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
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

// words splits a text at semicolons, each part into its first word and the rest.
func words(text string) (out [][2]string) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			key, rest, _ := strings.Cut(part, " ")
			out = append(out, [2]string{key, rest})
		}
	}
	return out
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func span(text string) core.Duration {
	d, err := core.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// lunch is the calendar of the scripts.
var lunch = Calendar{
	Namespace:    core.DefaultNamespace,
	Name:         "lunch",
	CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Name: "lunch", Weekly: "* 12:00-13:00"}}},
}

// scheduleOf parses a schedule and its plan:
//
//	cron */10 * * * *; overlap buffer_all; buffer 2; catchup all; max 3
func scheduleOf(t testing.TB, text string) (Schedule, Plan) {
	t.Helper()
	s := Schedule{ID: 1, Name: "s", Task: "t"}
	for _, w := range words(text) {
		switch key, rest := w[0], w[1]; key {
		case "cron":
			s.Rules = append(s.Rules, Rule{Cron: rest})
		case "every":
			s.Rules = append(s.Rules, Rule{Every: span(rest)})
		case "after":
			s.Rules = append(s.Rules, Rule{Every: span(rest), Anchor: AnchorFinish})
		case "at":
			var r Rule
			for text := range strings.FieldsSeq(rest) {
				r.At = append(r.At, at(text))
			}
			s.Rules = append(s.Rules, r)
		case "catchup":
			s.Catchup = Catchup(rest)
		case "window":
			s.CatchupWindow = span(rest)
		case "max":
			s.CatchupMax = int(number(rest))
		case "overlap":
			s.Overlap = Overlap(rest)
		case "buffer":
			s.BufferMax = int(number(rest))
		case "limit":
			s.MaxRuns = number(rest)
		case "start":
			s.Start = at(rest)
		case "end":
			s.End = at(rest)
		case "jitter":
			s.Jitter = span(rest)
		case "zone":
			s.Zone = rest
		case "blackout":
			s.Blackout = strings.Fields(rest)
		case "within":
			s.Within = strings.Fields(rest)
		case "closed":
			s.OnBlackout = OnBlackout(rest)
		default:
			t.Fatalf("what is %q in a schedule?", key)
		}
	}
	s = s.WithDefaults()
	plan, err := s.Plan(lunch)
	if err != nil {
		t.Fatalf("plan of %q: %v", text, err)
	}
	return s, plan
}

// factsOf parses the state before a decision, into s and the facts:
//
//	mark 09:50; active 7 8; buffered 09:40; finish 10:05; runs 2; paused
func factsOf(t testing.TB, s *Schedule, text string) (f Facts) {
	t.Helper()
	s.State = Active
	for _, w := range words(text) {
		switch key, rest := w[0], w[1]; key {
		case "new", "paused", "completed":
			s.State = map[string]State{"new": "", "paused": Paused, "completed": Completed}[key]
		case "mark":
			s.HighWater = at(rest)
		case "finish":
			s.FinishAt = at(rest)
		case "next":
			s.NextAt = at(rest)
		case "runs":
			s.Runs = number(rest)
		case "active":
			for id := range strings.FieldsSeq(rest) {
				f.Active = append(f.Active, number(id))
			}
		case "buffered":
			for text := range strings.FieldsSeq(rest) {
				f.Buffered = append(f.Buffered, Occurrence{ScheduleID: s.ID, Nominal: at(text), DueAt: at(text), Count: 1, Decision: DecidedBuffered})
			}
		default:
			t.Fatalf("what is %q before a decision?", key)
		}
	}
	return f
}

// doneBy makes the decision that text names: "fire 10:00".
func doneBy(t testing.TB, text string, s Schedule, plan Plan, f Facts) (Firing, time.Time) {
	t.Helper()
	verb, rest, _ := strings.Cut(text, " ")
	now := at(rest)
	switch verb {
	case "fire":
		return Fire(s, plan, f, now), now
	case "ended":
		return Ended(s, plan, f, now), now
	case "begin":
		return Begin(s, plan, f, now), now
	case "resume":
		return Resume(s, plan, f, now, false), now
	case "catchup":
		return Resume(s, plan, f, now, true), now
	}
	t.Fatalf("what is %q?", verb)
	return Firing{}, now
}

// told formats a decision: occurrences, formerly buffered occurrences, jobs to end,
// high-water mark, next finish, runs, next time, and the state if not active.
func told(f Firing) string {
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
	if f.State != Active {
		parts = append(parts, string(f.State))
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), "[", "")
}

func occurrenceText(o Occurrence) string {
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
}, f Firing, now time.Time) {
	t.Helper()
	for _, o := range slices.Concat(f.Occurrences, f.Unbuffered) {
		switch {
		case o.ScheduleID != 1:
			t.Errorf("%s belongs to schedule %d", occurrenceText(o), o.ScheduleID)
		case !o.DecidedAt.Equal(now):
			t.Errorf("%s was decided at %s and not at %s", occurrenceText(o), in(o.DecidedAt), in(now))
		case (o.Decision == DecidedSkipped) != (o.Reason != ""):
			t.Errorf("%s: a skip and nothing else has a reason", occurrenceText(o))
		case o.Count < 1 || (o.Count > 1) != !o.Until.IsZero():
			t.Errorf("%s stands for %d times until %s", occurrenceText(o), o.Count, in(o.Until))
		case o.Reason == ReasonOverlap && o.Note == "":
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
