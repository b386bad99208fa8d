package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// comingText formats the outcome of a time.
func comingText(c Coming) string {
	text := in(c.Nominal)
	switch {
	case c.DueAt.IsZero():
		text += " not"
	case !c.DueAt.Equal(c.Nominal):
		text += " due " + in(c.DueAt)
	}
	if c.Skipped != "" {
		text += " " + string(c.Skipped)
	}
	if len(c.Notes) > 0 {
		text += " (" + strings.Join(c.Notes, "; ") + ")"
	}
	return text
}

func TestUpcomingRuns(t *testing.T) {
	t.Parallel()
	const sofia, york = "cron 30 3 * * *; zone Europe/Sofia", "cron 30 1 * * *; zone America/New_York"
	for _, row := range []struct {
		name, schedule, before, from string
		n                            int
		want                         string
	}{
		{"plain", tens, "", "09:55", 3, "10:00; 10:10; 10:20"},
		{"strictly after from", tens, "", "10:00", 1, "10:10"},
		{"none asked for", tens, "", "10:00", 0, ""},
		{"to the end", tens + "end 10:10", "", "09:55", 5, "10:00; 10:10"},
		{"from the start on", tens + "start 10:10", "", "09:00", 2, "10:10; 10:20"},
		{"nothing planned", "", "", "10:00", 5, ""},
		{"all over", "at 09:00", "", "10:00", 5, ""},
		{"a gap", sofia, "", "28T12:00", 2, "29T01:00 (03:30 does not exist on 2026-03-29 in Europe/Sofia: runs at 04:00); 30T00:30"},
		{"a fold", sofia, "", "2026-10-24T12:00", 2, "2026-10-25T00:30 (first of two 03:30: the clock goes back from 04:00 to 03:00); 2026-10-26T01:30"},
		{"a fold in New York", york, "", "2026-11-01T04:00", 1, "2026-11-01T05:30 (first of two 01:30: the clock goes back from 02:00 to 01:00)"},
		{"a rule of every hour in a fold", "cron 30 * * * *; zone Europe/Sofia", "", "2026-10-25T00:00", 2,
			"2026-10-25T00:30 (first of two 03:30: the clock goes back from 04:00 to 03:00); 2026-10-25T01:30 (second of two 03:30: the clock goes back from 04:00 to 03:00)"},
		{"an interval knows no clock change", "every 30m; start 2026-10-25T00:00; zone Europe/Sofia", "", "2026-10-25T00:10", 1, "2026-10-25T00:30"},
		{"only the rule that has the time is asked", "every 30m; start 29T00:30; " + sofia, "", "29T00:40", 1,
			"29T01:00 (03:30 does not exist on 2026-03-29 in Europe/Sofia: runs at 04:00)"},
		{"a blackout", tens + "blackout lunch", "", "11:45", 2, "11:50; 12:00 not blackout (calendar lunch: lunch)"},
		{"outside", tens + "within lunch", "", "11:45", 2, "11:50 not blackout (outside calendar lunch); 12:00"},
		{"moved", tens + "blackout lunch; closed next_open", "", "11:55", 1, "12:00 due 13:00 (moved by calendar lunch: lunch)"},
		{"runs left", tens + "limit 3", "runs 1", "09:55", 4, "10:00; 10:10; 10:20 not max_runs; 10:30 not max_runs"},
		{"what a calendar keeps out is no run", tens + "limit 1; blackout lunch", "", "12:40", 3, "12:50 not blackout (calendar lunch: lunch); 13:00; 13:10 not max_runs"},
		{"from the finish", "after 5m", "finish 10:05", "10:00", 3, "10:05 (counted from the finish of the run before)"},
		{"from the finish while a run is under way", "after 5m", "", "10:00", 3, ""},
		{"from the finish, and past", "after 5m", "finish 10:05", "10:05", 3, ""},
		{"from the finish beside a plan", tens + "after 5m", "finish 10:05", "09:55", 3, "10:00; 10:05 (counted from the finish of the run before); 10:10"},
		{"from the finish behind those asked for", tens + "after 5m", "finish 10:15", "09:55", 2, "10:00; 10:10"},
		{"from the finish at a planned time", tens + "after 5m", "finish 10:10", "09:55", 2, "10:00; 10:10 (counted from the finish of the run before)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			factsOf(t, &s, row.before)
			var got []string
			for _, c := range s.Coming(plan, at(row.from), row.n) {
				got = append(got, comingText(c))
				if c.Schedule != "s" || c.Local != c.Nominal.In(zoneOf(t, s.Zone)).Format("Mon 2006-01-02 15:04:05 MST") {
					t.Errorf("%+v", c)
				}
			}
			if strings.Join(got, "; ") != row.want {
				t.Errorf("%s\ngot  %s\nwant %s", row.schedule, strings.Join(got, "; "), row.want)
			}
		})
	}
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := cron.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestJitterIsSeenBeforehand(t *testing.T) {
	t.Parallel()
	s, plan := scheduleOf(t, tens+"jitter 5m")
	s.State = Active
	noted := 0
	for _, c := range s.Coming(plan, at("10:00"), 20) {
		s.HighWater = c.Nominal.Add(-time.Second)
		o := Fire(s, plan, Facts{}, c.Nominal).Occurrences[0]
		if !o.DueAt.Equal(c.DueAt) {
			t.Errorf("%s: seen %s, fired %s", in(c.Nominal), in(c.DueAt), in(o.DueAt))
		}
		if len(c.Notes) == 1 && strings.HasPrefix(c.Notes[0], "starts ") && strings.HasSuffix(c.Notes[0], " later by its jitter") {
			noted++
		}
	}
	if noted < 19 {
		t.Errorf("%d of 20 say that they are put off", noted)
	}
	s.Zone = "Mars/Olympus" // a zone that was known where the schedule was saved
	if c := s.ComingAt(plan, at("10:00")); c.Local != "Mon 2026-03-02 10:00:00 UTC" {
		t.Errorf("local %q", c.Local)
	}
}

func TestAScheduleIsExplained(t *testing.T) {
	t.Parallel()
	const tail = "if the previous run is still going: skip | if runs were missed, only the latest is made up (within 1h)"
	for _, row := range []struct{ name, schedule, want string }{
		{"cron", "cron 0 9 * * MON-FRI; zone Europe/Sofia", "At 09:00 on Monday to Friday, Europe/Sofia time. | times are read in Europe/Sofia | " + tail},
		{"interval", "every 90s", "Every 1 minute 30 seconds. | times are read in UTC | " + tail},
		{"one instant", "at 10:00", "once, at 2026-03-02 10:00:00 UTC | times are read in UTC | " + tail},
		{"instants", "at 11:00 10:00 12:00", "at 3 instants, from 2026-03-02 10:00:00 UTC to 2026-03-02 12:00:00 UTC | times are read in UTC | " + tail},
		{"finish", "after 5m", "5m after the last run ended | times are read in UTC | " + tail},
		{"manual", "", "only when triggered | times are read in UTC | " + tail},
		{"several", "at 10:00; after 5m; every 1h", "once, at 2026-03-02 10:00:00 UTC | Every hour. | 5m after the last run ended | times are read in UTC | " + tail},
		{"all policies", "at 10:00; start 09:00; end 11:00; limit 3; jitter 1m; blackout lunch; within lunch; overlap buffer_all; catchup all; window 2h",
			"once, at 2026-03-02 10:00:00 UTC | times are read in UTC | not before 2026-03-02 09:00:00 UTC | not after 2026-03-02 11:00:00 UTC | at most 3 times, of which 1 are used" +
				" | each start is spread over 1m, the same way each time | not in the times of calendar lunch | only in the times of calendar lunch" +
				" | if the previous run is still going: buffer_all | if runs were missed, up to 100 are made up (within 2h)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			s.Runs = 1
			if got := strings.Join(s.Explain(plan), " | "); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	s := Schedule{Name: "s", Task: "t", Rules: []Rule{{RRule: "FREQ=MONTHLY;BYDAY=-1FR", DTStart: "2026-03-01T09:00"}}}.WithDefaults()
	plan, err := s.Plan()
	if got := s.Explain(plan)[0]; err != nil || !strings.Contains(got, "last Friday") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhyATimeIsOrIsNot(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, schedule, at, want string }{
		{"yes", tens, "10:00", "yes | */10 * * * *: yes"},
		{"no", tens, "10:05", "no | */10 * * * *: no: minute 5 is not in the rule"},
		{"one rule of two", tens + "every 15m; start 09:00", "10:15", "yes | */10 * * * *: no: minute 15 is not in the rule | every 15m: yes"},
		{"an instant", "at 10:00", "10:00", "yes | at 2026-03-02 10:00:00 UTC: yes"},
		{"another", "at 10:00", "10:01", "no | at 2026-03-02 10:00:00 UTC: no"},
		{"a gap", "cron 30 3 * * *; zone Europe/Sofia", "29T01:00", "yes | 30 3 * * *: yes: 03:30 does not exist on 2026-03-29 in Europe/Sofia: runs at 04:00"},
		{"the other half of a fold", "cron 30 3 * * *; zone Europe/Sofia", "2026-10-25T01:30", "no | 30 3 * * *: no: it is one of two 03:30, and the rule runs at the first"},
		{"before the start", tens + "start 10:30", "10:00", "no | */10 * * * *: yes | no: it is before the start of the schedule"},
		{"after the end", tens + "end 09:30", "10:00", "no | */10 * * * *: yes | no: it is after the end of the schedule"},
		{"a blackout", tens + "blackout lunch", "12:10", "no | */10 * * * *: yes | no: calendar lunch: lunch"},
		{"outside", tens + "within lunch", "11:50", "no | */10 * * * *: yes | no: outside calendar lunch"},
		{"moved by a blackout", tens + "blackout lunch; closed next_open", "12:10", "yes | */10 * * * *: yes | yes, and moved to Mon 2026-03-02 13:00:00 UTC: calendar lunch: lunch"},
		{"no time of it in a blackout", tens + "blackout lunch; closed next_open", "12:11", "no | */10 * * * *: no: minute 11 is not in the rule | no: calendar lunch: lunch"},
		{"the next from the finish", "after 5m", "10:07", "yes | every 5m after finish: yes"},
		{"any other from the finish", "after 5m", "10:12", "no | every 5m after finish: no: only the next of its times is known, and that from the end of the run before"},
		{"manual", "", "10:00", "no | no: it runs only when triggered"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			if plan.Finish > 0 {
				s.FinishAt = at("10:07")
			}
			is, why := s.WhyAt(plan, at(row.at))
			got := strings.Join(append([]string{map[bool]string{true: "yes", false: "no"}[is]}, why...), " | ")
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestTheDifferenceOfTwoVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, before, after string
		n                   int
		want                string
	}{
		{"the same", tens, tens, 3, "= 10:10; = 10:20; = 10:30"},
		{"other minutes", "cron 0 * * * *", "cron 30 * * * *", 2, "+ 10:30; - 11:00; + 11:30"},
		{"oftener: what both have is no loss", "cron 0 * * * *", "cron */30 * * * *", 4, "+ 10:30; = 11:00; + 11:30; = 12:00"},
		{"rarer", "cron */30 * * * *", "cron 0 * * * *", 4, "- 10:30; = 11:00; - 11:30; = 12:00"},
		{"far rarer: the first is there all the same", "cron */30 * * * *", "cron 0 0 1 * *", 3, "- 10:30; - 11:00; - 11:30; = 2026-04-01T00:00"},
		{"and one that is new", "cron */30 * * * *", "cron 5 0 1 * *", 2, "- 10:30; - 11:00; + 2026-04-01T00:05"},
		{"one that ends", tens, tens + "end 10:20", 4, "= 10:10; = 10:20; - 10:30; - 10:40"},
		{"one that never runs any more", tens, "at 09:00", 2, "- 10:10; - 10:20"},
		{"from nothing", "", tens, 2, "+ 10:10; + 10:20"},
		{"nothing", "", "", 2, ""},
		{"none asked for", tens, tens, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			before, beforePlan := scheduleOf(t, row.before)
			after, afterPlan := scheduleOf(t, row.after)
			var got []string
			for _, d := range DiffTimes(before, beforePlan, after, afterPlan, at("10:00"), row.n) {
				got = append(got, d.Change+" "+in(d.Nominal))
			}
			if strings.Join(got, "; ") != row.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), row.want)
			}
		})
	}
}

func TestALookHasAllAnswers(t *testing.T) {
	t.Parallel()
	now := at("10:00")
	s, plan := scheduleOf(t, tens)
	l := s.Look(plan, nil, Plan{}, LookQuery{Name: "s"}, now, "2026a")
	if len(l.Coming) != 10 || in(l.Coming[0].Nominal) != "10:10" || l.Is != nil || l.Why != nil || l.Diff != nil || l.Zones != "2026a" || len(l.Explain) == 0 {
		t.Errorf("%+v", l)
	}
	before, beforePlan := scheduleOf(t, hourly)
	l = s.Look(plan, &before, beforePlan, LookQuery{Name: "s", From: at("11:00"), N: 2, At: at("11:05")}, now, "")
	if len(l.Coming) != 2 || in(l.Coming[0].Nominal) != "11:00" || l.Is == nil || *l.Is || len(l.Why) != 1 || len(l.Diff) != 2 {
		t.Errorf("%+v", l)
	}
	s, plan = scheduleOf(t, "")
	if l = s.Look(plan, nil, Plan{}, LookQuery{}, now, ""); l.Coming == nil {
		t.Error("null in JSON where a list is")
	}
	for n, want := range map[int]int{0: 10, 1: 1, -5: 1, 1000: 1000, 5000: 1000} {
		if got := (LookQuery{N: n}).Bound(); got != want {
			t.Errorf("bound of %d is %d, want %d", n, got, want)
		}
	}
}

func TestPreviewQueriesAreChecked(t *testing.T) {
	refuses(t, func() LookQuery { return LookQuery{Name: "s"} }, LookQuery.Validate, []refusal[LookQuery]{
		{"a draft alone", func(q *LookQuery) { q.Name, q.Draft = "", &Schedule{} }, "", ""},
		{"the most", func(q *LookQuery) { q.N = MaxLook }, "", ""},
		{"neither name nor draft", func(q *LookQuery) { q.Name = "" }, "name", "neither a name nor a draft"},
		{"less than none", func(q *LookQuery) { q.N = -1 }, "n", "is outside 1 to 1000"},
		{"too many", func(q *LookQuery) { q.N = MaxLook + 1 }, "n", "is outside 1 to 1000"},
	})
}

func TestForecastQueriesAreChecked(t *testing.T) {
	refuses(t, func() Ahead { return Ahead{}.WithDefaults(at("10:00")) }, Ahead.Validate, []refusal[Ahead]{
		{"the most", func(a *Ahead) { a.Within, a.Limit = MaxAhead, MaxAheadRows }, "", ""},
		{"backwards", func(a *Ahead) { a.Within = -time.Hour }, "within", "is outside 0s to 31d"},
		{"too far", func(a *Ahead) { a.Within = MaxAhead + 1 }, "within", "is outside 0s to 31d"},
		{"none", func(a *Ahead) { a.Limit = -1 }, "limit", "is outside 1 to 10000"},
		{"too many", func(a *Ahead) { a.Limit = MaxAheadRows + 1 }, "limit", "is outside 1 to 10000"},
	})
	a := Ahead{}.WithDefaults(at("10:00"))
	if a.Namespace != core.DefaultNamespace || !a.From.Equal(at("10:00")) || a.Within != 24*time.Hour || a.Limit != 200 {
		t.Errorf("defaults %+v", a)
	}
	if a = (Ahead{From: at("11:00")}).WithDefaults(at("10:00")); !a.From.Equal(at("11:00")) {
		t.Errorf("defaults %+v", a)
	}
}

func TestARecurrenceFromSeparateFields(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, start string
		rule        Rule
		want        string
	}{
		{"alone, from the schedule's start", "2026-03-02T09:00", Rule{RRule: "FREQ=DAILY;COUNT=2"}, "09:00 03T09:00"},
		{"dtstart in the schedule's zone", "", Rule{RRule: "FREQ=DAILY;COUNT=2", DTStart: "2026-03-02T09:00:00"}, "07:00 03T07:00"},
		{"dtstart without seconds", "", Rule{RRule: "FREQ=DAILY;COUNT=1", DTStart: "2026-03-02T09:00"}, "07:00"},
		{"dtstart as iCalendar has it", "", Rule{RRule: "FREQ=DAILY;COUNT=1", DTStart: "20260302T090000"}, "07:00"},
		{"dtstart in UTC", "", Rule{RRule: "FREQ=DAILY;COUNT=1", DTStart: "2026-03-02T09:00:00Z"}, "09:00"},
		{"dtstart with an offset", "", Rule{RRule: "FREQ=DAILY;COUNT=1", DTStart: "2026-03-02T09:00:00+05:00"}, "04:00"},
		{"over a clock change it keeps the hour", "", Rule{RRule: "FREQ=DAILY;COUNT=2", DTStart: "2026-03-28T09:00"}, "28T07:00 29T06:00"},
		{"rdate adds", "", Rule{RRule: "FREQ=DAILY;COUNT=2", DTStart: "2026-03-02T09:00", RDate: []string{"2026-03-02T12:00", "2026-03-05T10:00:00Z"}}, "07:00 10:00 03T07:00 05T10:00"},
		{"exdate takes out", "", Rule{RRule: "FREQ=DAILY;COUNT=3", DTStart: "2026-03-02T09:00", ExDate: []string{"2026-03-03T09:00"}}, "07:00 04T07:00"},
		{"both", "", Rule{RRule: "FREQ=DAILY;COUNT=2", DTStart: "2026-03-02T09:00", RDate: []string{"2026-03-02T12:00"}, ExDate: []string{"2026-03-02T12:00"}}, "07:00 03T07:00"},
		{"rdate beside the schedule's start", "2026-03-02T07:00", Rule{RRule: "FREQ=DAILY;COUNT=2", RDate: []string{"2026-03-02T12:00"}}, "07:00 10:00 03T07:00"},
		{"a whole block", "", Rule{RRule: "DTSTART;TZID=America/New_York:20260302T090000\nRRULE:FREQ=DAILY;COUNT=1"}, "14:00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := Schedule{Name: "s", Task: "t", Zone: "Europe/Sofia", Rules: []Rule{row.rule}}
			if row.start != "" {
				s.Start = at(row.start)
			}
			s = s.WithDefaults()
			plan, err := s.Plan()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range s.Upcoming(plan, at("00:00"), 9) {
				got = append(got, in(x))
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), row.want)
			}
		})
	}
}

func TestRecurrencesAreChecked(t *testing.T) {
	t.Parallel()
	good := Rule{RRule: "FREQ=DAILY", DTStart: "2026-03-02T09:00"}
	for _, row := range []struct {
		name   string
		change func(*Rule)
		want   string
	}{
		{"as it is", func(*Rule) {}, ""},
		{"no dtstart", func(r *Rule) { r.DTStart = "yesterday" }, `rules[0].dtstart "yesterday": is not a time (write 2026-01-31T09:00:00`},
		{"a date alone", func(r *Rule) { r.DTStart = "2026-03-02" }, "rules[0].dtstart"},
		{"a day that is none", func(r *Rule) { r.DTStart = "2026-02-30T09:00" }, "rules[0].dtstart"},
		{"a bad rdate", func(r *Rule) { r.RDate = []string{"2026-03-02T09:00", "x"} }, `rules[0].rdate[1] "x"`},
		{"a bad exdate", func(r *Rule) { r.ExDate = []string{""} }, `rules[0].exdate[0]`},
		{"a block beside fields", func(r *Rule) { r.RRule = "RRULE:FREQ=DAILY" }, "rules[0].rrule"},
		{"lines beside fields", func(r *Rule) { r.RRule = "FREQ=DAILY\nX" }, "is a whole block (put dtstart"},
		{"a bad rule beside fields", func(r *Rule) { r.RRule = "FREQ=SOMETIMES" }, "rules[0].rrule"},
		{"injected lines", func(r *Rule) { r.DTStart = "2026-03-02T09:00\nRDATE:20260302T100000" }, "rules[0].dtstart"},
		{"dtstart without rrule", func(r *Rule) { r.RRule = "" }, "must have exactly one of"},
		{"dtstart beside cron", func(r *Rule) { r.RRule, r.Cron = "", "* * * * *" }, "must have exactly one of"},
		{"rdate beside every", func(r *Rule) { *r = Rule{Every: span("1h"), RDate: []string{"2026-03-02T09:00"}} }, "must have exactly one of"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := good
			row.change(&r)
			s := Schedule{Name: "s", Task: "t", Rules: []Rule{r}}.WithDefaults()
			err := s.Validate(at("10:00"))
			var e *core.Error
			switch {
			case row.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.want != "" && (!errors.As(err, &e) || len(e.Fields) != 1 || !strings.Contains(e.Fields[0].String(), row.want)):
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
			if r.same(good) != (row.want == "") {
				t.Error("an edit of it is not noticed")
			}
		})
	}
	if a, b := good, good; !a.same(b) || !slices.Equal(a.RDate, b.RDate) {
		t.Error("it is not itself")
	}
}
