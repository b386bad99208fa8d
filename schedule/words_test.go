package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// refusal is one bad input: its change to a good input, and the field and the text
// that the error must contain.
type refusal[T any] struct {
	name   string
	change func(*T)
	field  string
	says   string
}

// refuses checks that the good input is valid, and that each row is refused with an
// error about its field.
func refuses[T any](t *testing.T, good func() T, validate func(T) error, rows []refusal[T]) {
	t.Helper()
	t.Parallel()
	if err := validate(good()); err != nil {
		t.Fatalf("the good one is refused: %v", err)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bad := good()
			row.change(&bad)
			err := validate(bad)
			if row.field == "" {
				if err != nil {
					t.Errorf("it is good and was refused: %v", err)
				}
				return
			}
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.Invalid {
				t.Fatalf("got %v, want an invalid input", err)
			}
			if len(e.Fields) != 1 || e.Fields[0].Field != row.field || !strings.Contains(e.Fields[0].String(), row.says) {
				t.Errorf("got  %v\nwant %s: … %s", e.Fields, row.field, row.says)
			}
		})
	}
}

var long = strings.Repeat("x", 5000)

func manyOf(n int, text string) (out []string) {
	return slices.Repeat([]string{text}, n)
}

func TestSchedulesAreChecked(t *testing.T) {
	now := at("10:00")
	good := func() Schedule {
		return Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}}}.WithDefaults()
	}
	rule := func(r Rule) func(*Schedule) { return func(s *Schedule) { s.Rules = []Rule{r} } }
	refuses(t, good, func(s Schedule) error { return s.Validate(now) }, []refusal[Schedule]{
		{"no name", func(s *Schedule) { s.Name = "" }, "name", "is missing (use"},
		{"bad namespace", func(s *Schedule) { s.Namespace = "a/b" }, "namespace", "is not a name"},
		{"no task", func(s *Schedule) { s.Task = "" }, "task", "is missing"},
		{"bad input", func(s *Schedule) { s.Input = []byte("{") }, "input", "is not JSON"},
		{"long description", func(s *Schedule) { s.Description = long }, "description", "more than 4096 bytes"},
		{"without rules it is triggered by hand", func(s *Schedule) { s.Rules = nil }, "", ""},
		{"33 rules", func(s *Schedule) { s.Rules = slices.Repeat(s.Rules, 33) }, "rules", "more than 32 entries"},
		{"an empty rule", rule(Rule{}), "rules[0]", "exactly one of cron, rrule, every, at"},
		{"two rules in one", rule(Rule{Cron: "0 9 * * *", Every: span("1m")}), "rules[0]", "exactly one of"},
		{"the second rule", func(s *Schedule) { s.Rules = append(s.Rules, Rule{}) }, "rules[1]", "exactly one of"},
		{"not a cron expression", rule(Rule{Cron: "61 * * * *"}), "rules[0].cron", `"61 * * * *": `},
		{"a cron expression that never matches", rule(Rule{Cron: "0 0 30 2 *"}), "rules[0].cron", "0 0 30 2 *"},
		{"a rrule that is none", rule(Rule{RRule: "FREQ=SOMETIMES"}), "rules[0].rrule", "FREQ=SOMETIMES"},
		{"an interval under a second", rule(Rule{Every: span("999ms")}), "rules[0].every", "outside 1s to 366d"},
		{"a negative interval", rule(Rule{Every: span("-1m")}), "rules[0].every", "outside 1s to 366d"},
		{"an interval of two years", rule(Rule{Every: span("731d")}), "rules[0].every", "outside 1s to 366d"},
		{"a short interval from the finish", rule(Rule{Every: 1, Anchor: AnchorFinish}), "rules[0].every", "outside 1s to 366d"},
		{"a negative interval from the finish", rule(Rule{Every: -1, Anchor: AnchorFinish}), "rules[0].every", "outside 1s to 366d"},
		{"an interval finer than the engine", rule(Rule{Every: span("1500us") + span("1s")}), "rules[0].every", "millisecond"},
		{"from the finish", rule(Rule{Every: span("1m"), Anchor: AnchorFinish}), "", ""},
		{"from somewhere", rule(Rule{Every: span("1m"), Anchor: "ship"}), "rules[0].anchor", "is not an anchor (one of plan, finish)"},
		{"an anchor without every", rule(Rule{Cron: "0 9 * * *", Anchor: AnchorFinish}), "rules[0].anchor", "belongs to a rule with every"},
		{"1001 instants", rule(Rule{At: slices.Repeat([]time.Time{at("11:00")}, 1001)}), "rules[0].at", "more than 1000 entries"},
		{"an instant that is none", rule(Rule{At: []time.Time{{}}}), "rules[0].at", ""},
		{"an instant that passed", rule(Rule{At: []time.Time{at("10:00")}}), "rules", "never match after 2026-03-02 10:00:00 UTC (check dates, years, start and end)"},
		{"an instant to come", rule(Rule{At: []time.Time{at("10:01")}}), "", ""},
		{"no run between start and end", func(s *Schedule) { s.Start, s.End = at("10:00"), at("11:00") }, "rules", "never match after"},
		{"an unknown zone", func(s *Schedule) { s.Zone = "Mars/Olympus" }, "zone", "Mars/Olympus"},
		{"an unknown answer to a gap", func(s *Schedule) { s.DSTGap = "jump" }, "dst_gap", "is not a choice (one of run_after, skip)"},
		{"an unknown answer to a fold", func(s *Schedule) { s.DSTFold = "third" }, "dst_fold", "is not a choice (one of first, second, both)"},
		{"end before start", func(s *Schedule) { s.Start, s.End = at("05T00:00"), at("04T00:00") }, "end", "is before start"},
		{"an end that passed", func(s *Schedule) { s.End = at("10:00") }, "end", "has passed"},
		{"unknown catch-up", func(s *Schedule) { s.Catchup = "some" }, "catchup", "is not a catch-up (one of none, latest, all)"},
		{"a window too short", func(s *Schedule) { s.CatchupWindow = span("9s") }, "catchup_window", "is outside 10s to 366d"},
		{"a window too long", func(s *Schedule) { s.CatchupWindow = task.MaxEvery + 1 }, "catchup_window", "is outside"},
		{"catches up with none", func(s *Schedule) { s.CatchupMax = -1 }, "catchup_max", "outside 1 to 1000"},
		{"catches up with 1001", func(s *Schedule) { s.CatchupMax = 1001 }, "catchup_max", "outside 1 to 1000"},
		{"unknown overlap", func(s *Schedule) { s.Overlap = "pile" }, "overlap", "(one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow)"},
		{"buffers none", func(s *Schedule) { s.BufferMax = -1 }, "buffer_max", "outside 1 to 1000"},
		{"buffers 1001", func(s *Schedule) { s.BufferMax = 1001 }, "buffer_max", "outside 1 to 1000"},
		{"less than no run", func(s *Schedule) { s.MaxRuns = -1 }, "max_runs", "is negative"},
		{"negative jitter", func(s *Schedule) { s.Jitter = -1 }, "jitter", "outside 0s to 24h"},
		{"jitter over a day", func(s *Schedule) { s.Jitter = span("24h") + 1 }, "jitter", "outside 0s to 24h"},
		{"unknown answer to a blackout", func(s *Schedule) { s.OnBlackout = "hide" }, "on_blackout", "(one of skip, next_open)"},
		{"17 calendars", func(s *Schedule) { s.Blackout = manyOf(17, "c") }, "blackout", "more than 16 entries"},
	})
}

func TestAScheduleNamesOnlyCalendarsThatAreThere(t *testing.T) {
	t.Parallel()
	s := Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}}, Blackout: []string{"lunch", "moon"}}.WithDefaults()
	_, err := s.Plan(lunch)
	var e *core.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != "blackout[1]" || e.Fields[0].Hint == "" {
		t.Errorf("got %v", err)
	}
}

func TestCalendarsAreChecked(t *testing.T) {
	refuses(t, func() Calendar { return lunch.WithDefaults() }, Calendar.Validate, []refusal[Calendar]{
		{"no name", func(c *Calendar) { c.Name = "" }, "name", "is missing"},
		{"bad namespace", func(c *Calendar) { c.Namespace = "a b" }, "namespace", "is not a name"},
		{"long description", func(c *Calendar) { c.Description = long }, "description", "more than 4096"},
		{"unknown zone", func(c *Calendar) { c.Zone = "Mars/Olympus" }, "zone", "Mars/Olympus"},
	})
}

func TestSameTimes(t *testing.T) {
	good := func() Schedule {
		return Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}, {Every: span("1m")}, {At: []time.Time{at("10:00")}}}}.WithDefaults()
	}
	for _, row := range []struct {
		name   string
		change func(*Schedule)
		same   bool
	}{
		{"nothing", func(*Schedule) {}, true},
		{"policy", func(s *Schedule) { s.Overlap, s.Catchup, s.MaxRuns, s.Jitter = OverlapAllow, CatchupAll, 7, 5 }, true},
		{"task and words", func(s *Schedule) { s.Task, s.Description, s.Input = "u", "new", []byte("1") }, true},
		{"the same instant in another zone", func(s *Schedule) { s.Rules[2].At[0] = s.Rules[2].At[0].In(time.FixedZone("", 3600)) }, true},
		{"cron", func(s *Schedule) { s.Rules[0].Cron = "0 8 * * *" }, false},
		{"rrule", func(s *Schedule) { s.Rules[0].RRule = "FREQ=DAILY" }, false},
		{"every", func(s *Schedule) { s.Rules[1].Every++ }, false},
		{"anchor", func(s *Schedule) { s.Rules[1].Anchor = AnchorFinish }, false},
		{"an instant", func(s *Schedule) { s.Rules[2].At[0] = at("10:01") }, false},
		{"one instant more", func(s *Schedule) { s.Rules[2].At = append(s.Rules[2].At, at("10:01")) }, false},
		{"one rule less", func(s *Schedule) { s.Rules = s.Rules[:2] }, false},
		{"zone", func(s *Schedule) { s.Zone = "Europe/Sofia" }, false},
		{"gap", func(s *Schedule) { s.DSTGap = "skip" }, false},
		{"fold", func(s *Schedule) { s.DSTFold = "both" }, false},
		{"start", func(s *Schedule) { s.Start = at("10:00") }, false},
		{"end", func(s *Schedule) { s.End = at("10:00") }, false},
	} {
		a, b := good(), good()
		row.change(&b)
		if a.SameTimes(b) != row.same || b.SameTimes(a) != row.same {
			t.Errorf("%s: same times is not %t", row.name, row.same)
		}
	}
}

func TestRulesAsText(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{"", "manual"},
		{"cron 0 9 * * *", "0 9 * * *"},
		{"every 90s", "every 1m30s"},
		{"after 5m", "every 5m after finish"},
		{"at 10:00", "at 2026-03-02 10:00:00 UTC"},
		{"at 10:00 11:00", "at 2 instants"},
		{"every 7d; after 1h", "every 7d + every 1h after finish"},
	} {
		if s, _ := scheduleOf(t, row[0]); s.RuleText() != row[1] {
			t.Errorf("%q is %q, want %q", row[0], s.RuleText(), row[1])
		}
	}
	if got := (Rule{RRule: "FREQ=DAILY"}).String(); !strings.Contains(got, "FREQ=DAILY") {
		t.Errorf("%q", got)
	}
}
