package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// calendarsOf parses calendars with weekly closings: "a * 12:00-13:00; b MON".
func calendarsOf(text string) (all []Calendar) {
	for _, w := range words(text) {
		all = append(all, Calendar{Namespace: core.DefaultNamespace, Name: w[0],
			CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Weekly: w[1]}}}}.WithDefaults())
	}
	return all
}

// gateOf returns the gate of a schedule with calendars.
func gateOf(t testing.TB, calendars, blackout, within string) Gate {
	t.Helper()
	s := Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "* * * * *"}}, Blackout: strings.Fields(blackout), Within: strings.Fields(within)}.WithDefaults()
	plan, err := s.Plan(calendarsOf(calendars)...)
	if err != nil {
		t.Fatal(err)
	}
	return plan.gate
}

func TestSeveralCalendarsAgree(t *testing.T) {
	t.Parallel()
	const noon, early, late = "noon * 12:00-13:00", "early * 00:00-09:00", "late * 18:00-24:00"
	for _, row := range []struct{ name, calendars, blackout, within, at, closed, open string }{
		{"none", "", "", "", "10:00", "", "10:00"},
		{"open", noon, "noon", "", "11:59:59", "", "11:59:59"},
		{"the first second is closed", noon, "noon", "", "12:00", "calendar noon: closed * 12:00-13:00", "13:00"},
		{"the last second is open", noon, "noon", "", "13:00", "", "13:00"},
		{"one ends where the next begins", "a * 12:00-13:00; b * 13:00-14:00", "a b", "", "12:30", "calendar a: closed * 12:00-13:00", "14:00"},
		{"in the other order too", "a * 12:00-13:00; b * 13:00-14:00", "b a", "", "12:30", "calendar a: closed * 12:00-13:00", "14:00"},
		{"of two the first is told", "a * 12:00-13:00; b * 12:00-15:00", "b a", "", "12:30", "calendar b: closed * 12:00-15:00", "15:00"},
		{"night and weekend", early + "; " + late + "; weekend SAT-SUN", "early late weekend", "", "06T18:00", "calendar late: closed * 18:00-24:00", "09T09:00"},
		{"within", "day * 09:00-17:00", "", "day", "10:00", "", "10:00"},
		{"outside, later today", "day * 09:00-17:00", "", "day", "08:59", "outside calendar day", "09:00"},
		{"outside, tomorrow", "day * 09:00-17:00", "", "day", "17:00", "outside calendar day", "03T09:00"},
		{"within two at once", "day * 09:00-17:00; shift * 15:00-20:00", "", "day shift", "10:00", "outside calendar shift", "15:00"},
		{"within two that meet tomorrow only", "day * 09:00-17:00; shift * 15:00-20:00", "", "day shift", "18:00", "outside calendar day", "03T15:00"},
		{"within, and out of noon", "day * 09:00-17:00; " + noon, "noon", "day", "12:10", "calendar noon: closed * 12:00-13:00", "13:00"},
		{"within what noon covers but for an end", "day * 12:30-13:10; " + noon, "noon", "day", "12:10", "calendar noon: closed * 12:00-13:00", "13:00"},
		{"within two that never meet", "day * 09:00-17:00; night * 20:00-23:00", "", "day night", "10:00", "outside calendar night", "never"},
		{"within what is blacked out whole", "day * 09:00-17:00; more * 08:00-18:00", "more", "day", "10:00", "calendar more: closed * 08:00-18:00", "never"},
		{"always closed", "a *", "a", "", "10:00", "calendar a: closed *", "never"},
		{"a fraction of a second stays while open", noon, "noon", "", "10:00:05", "", "10:00:05"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := gateOf(t, row.calendars, row.blackout, row.within)
			why, closed := g.closed(at(row.at))
			if why != row.closed || closed != (row.closed != "") {
				t.Errorf("closed %q, %v; want %q", why, closed, row.closed)
			}
			open := g.NextOpen(at(row.at))
			if in(open) != row.open {
				t.Errorf("opens at %s, want %s", in(open), row.open)
			}
			if why, closed := g.closed(open); closed && !open.IsZero() {
				t.Errorf("it is not open then: %s", why)
			}
		})
	}
}

func TestTheSearchForAnOpenTimeIsBounded(t *testing.T) {
	t.Parallel()
	// Two calendars that alternate forever, so that no time is within both.
	g := gateOf(t, "day * 06:00-18:00; night * 18:00-06:00", "", "day night")
	begun := time.Now()
	if open := g.NextOpen(at("10:00")); !open.IsZero() {
		t.Errorf("opens at %s", in(open))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	// A calendar with only past dates allows no further runs.
	s := Schedule{Name: "s", Task: "t", Within: []string{"gone"}}.WithDefaults()
	plan, err := s.Plan(Calendar{Name: "gone", CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Dates: "2020-01-01"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if open := plan.gate.NextOpen(at("10:00")); !open.IsZero() {
		t.Errorf("opens at %s", in(open))
	}
}

func TestACalendarHasItsOwnZone(t *testing.T) {
	t.Parallel()
	s := Schedule{Name: "s", Task: "t", Zone: "America/New_York", Blackout: []string{"c"}, Rules: []Rule{{Cron: "0 * * * *"}}}.WithDefaults()
	plan, err := s.Plan(Calendar{Name: "c", CalendarSpec: cron.CalendarSpec{Zone: "Europe/Sofia", Closings: []cron.Closing{{Name: "New Year", Dates: "2026-03-03"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"21:59:59": false, "22:00": true, "03T21:59:59": true, "03T22:00": false} {
		if why, closed := plan.gate.closed(at(text)); closed != want || closed && why != "calendar c: New Year" {
			t.Errorf("%s: %v %q", text, closed, why)
		}
	}
	if open := plan.gate.NextOpen(at("23:00")); in(open) != "03T22:00" || open.Location() != time.UTC {
		t.Errorf("opens at %s", open)
	}
}

func TestBlackoutsThroughFire(t *testing.T) {
	const minutes = "cron 50 * * * *; "
	decisions(t, []decision{
		{"skip", tens + "blackout lunch", "mark 12:00", "fire 12:10", "12:10 skipped blackout; mark 12:10; next 12:20"},
		{"skip leaves the buffer alone", tens + "blackout lunch; overlap buffer_one", "mark 12:00; active 7; buffered 11:50", "fire 12:10", "12:10 skipped blackout; mark 12:10; next 12:20"},
		{"skip ends nobody", tens + "blackout lunch; overlap terminate_other", "mark 12:00; active 7", "fire 12:10", "12:10 skipped blackout; mark 12:10; next 12:20"},
		{"skip asks nobody to end", tens + "blackout lunch; overlap cancel_other", "mark 12:00; active 7", "fire 12:10", "12:10 skipped blackout; mark 12:10; next 12:20"},
		{"a run that waits starts in a blackout: its own time was open", tens + "blackout lunch; overlap buffer_one", "mark 12:00; buffered 11:50", "ended 12:03", "was 11:50 job; mark 12:00; runs 1; next 12:10"},
		{"the first time after it", tens + "blackout lunch", "mark 12:50", "fire 13:00", "13:00 job; mark 13:00; runs 1; next 13:10"},
		{"the last time of all on a blackout completes", "at 12:30; blackout lunch", "mark 12:00", "fire 12:30", "12:30 skipped blackout; mark 12:30; next never; completed"},
		{"next_open moves and counts", tens + "blackout lunch; closed next_open; limit 1", "mark 12:00", "fire 12:10", "12:10 due 13:00 job; mark 12:10; runs 1; next never; completed"},
		{"next_open of an open time moves nothing", tens + "blackout lunch; closed next_open", "mark 11:40", "fire 11:50", "11:50 job; mark 11:50; runs 1; next 12:00"},
		{"next_open with the moved run waiting: overlap decides", tens + "blackout lunch; closed next_open", "mark 12:00; active 7", "fire 12:10", "12:10 due 13:00 skipped overlap; mark 12:10; next 12:20"},
		{"next_open, buffered keeps when it may start", tens + "blackout lunch; closed next_open; overlap buffer_one", "mark 12:00; active 7", "fire 12:10", "12:10 due 13:00 buffered; mark 12:10; next 12:20"},
		{"next_open, the newest replaces the one before", tens + "blackout lunch; closed next_open; overlap terminate_other", "mark 12:00; active 7", "fire 12:10", "12:10 due 13:00 job; terminate 7; mark 12:10; runs 1; next 12:20"},
		{"next_open without an open time ever", "at 12:30; within lunch; blackout lunch; closed next_open", "mark 12:00", "fire 12:30", "12:30 skipped blackout; mark 12:30; next never; completed"},
		{"within skips outside", tens + "within lunch", "mark 11:40", "fire 11:50", "11:50 skipped blackout; mark 11:50; next 12:00"},
		{"within moves to its begin", tens + "within lunch; closed next_open", "mark 11:40", "fire 11:50", "11:50 due 12:00 job; mark 11:50; runs 1; next 12:00"},
		{"latest looks past closed times", minutes + "blackout lunch; window 5h", "mark 08:50", "fire 12:55", "09:50..10:50 x2 skipped catchup_latest; 11:50 job; 12:50 skipped blackout; mark 12:50; runs 1; next 13:50"},
		{"latest with nothing but closed ones in the window", tens + "blackout lunch; window 20m", "mark 12:00", "fire 12:40", "12:10 skipped catchup_window; 12:20 skipped blackout; 12:30 skipped blackout; 12:40 skipped blackout; mark 12:40; next 12:50"},
		{"latest with next_open takes the newest though closed", tens + "blackout lunch; closed next_open", "mark 12:00", "fire 12:40", "12:10..12:30 x3 skipped catchup_latest; 12:40 due 13:00 job; mark 12:40; runs 1; next 12:50"},
		{"all makes up for as many open ones", tens + "blackout lunch; catchup all; max 2; overlap allow; window 3h", "mark 11:20", "fire 13:00", "11:30..11:40 x2 skipped catchup_max; 11:50 job; 12:00 skipped blackout; 12:10 skipped blackout; 12:20 skipped blackout; 12:30 skipped blackout; 12:40 skipped blackout; 12:50 skipped blackout; 13:00 job; mark 13:00; runs 2; next 13:10"},
		{"none on time and closed", tens + "blackout lunch; catchup none", "mark 12:00", "fire 12:10:05", "12:10 skipped blackout; mark 12:10; next 12:20"},
	})
}

func TestJitterDoesNotPutAMovedRunIntoAnotherClosing(t *testing.T) {
	t.Parallel()
	s := Schedule{ID: 1, Name: "s", Task: "t", Rules: []Rule{{Cron: "30 12 * * *"}}, Jitter: span("6h"),
		Blackout: []string{"noon", "tea"}, OnBlackout: BlackoutNextOpen, State: Active}.WithDefaults()
	plan, err := s.Plan(calendarsOf("noon * 12:00-13:00; tea * 14:00-18:00")...)
	if err != nil {
		t.Fatal(err)
	}
	inTea := 0
	for day := range 30 {
		nominal := at("12:30").AddDate(0, 0, day)
		s.HighWater = nominal.Add(-time.Second)
		o := Fire(s, plan, Facts{}, nominal).Occurrences[0]
		if why, closed := plan.gate.closed(o.DueAt); closed || o.DueAt.Before(nominal) {
			t.Errorf("%s is due %s: %s", in(nominal), in(o.DueAt), why)
		}
		if o.DueAt.Hour() == 18 && o.DueAt.Minute() == 0 {
			inTea++
		}
	}
	if inTea == 0 {
		t.Error("no jitter led into the second closing: the test shows nothing")
	}
}

func TestLongBlackoutsStayBounded(t *testing.T) {
	t.Parallel()
	s := Schedule{ID: 1, Name: "s", Task: "t", Rules: []Rule{{Cron: "* * * * *"}}, Blackout: []string{"all"}, CatchupWindow: span("30d"),
		State: Active, HighWater: at("10:00")}.WithDefaults()
	plan, err := s.Plan(calendarsOf("all *")...)
	if err != nil {
		t.Fatal(err)
	}
	f := Fire(s, plan, Facts{}, at("10T10:00"))
	n := 0
	for _, o := range f.Occurrences {
		n += o.Count
	}
	if len(f.Occurrences) > maxClosedSkips+2 || n != core.CountLimit+1+maxClosedSkips+1 || f.Runs != 0 {
		t.Errorf("%d rows for %d times, %d runs", len(f.Occurrences), n, f.Runs)
	}
}

func TestCalendarWordsAreChecked(t *testing.T) {
	good := func() Calendar {
		return Calendar{Name: "c", CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Weekly: "SAT-SUN"}}}}.WithDefaults()
	}
	closing := func(cl cron.Closing) func(*Calendar) {
		return func(c *Calendar) { c.Closings = append(c.Closings, cl) }
	}
	refuses(t, good, Calendar.Validate, []refusal[Calendar]{
		{"without closings it is always open", func(c *Calendar) { c.Closings = nil }, "", ""},
		{"every kind", closing(cron.Closing{Rule: "DTSTART:20260101T090000\nRRULE:FREQ=WEEKLY", Lasts: "2h"}), "", ""},
		{"dates", closing(cron.Closing{Dates: "12-24..01-02"}), "", ""},
		{"an empty closing", closing(cron.Closing{Name: "x"}), "closings[1]", "needs exactly one of weekly, dates and rule"},
		{"two in one", closing(cron.Closing{Weekly: "MON", Dates: "12-25"}), "closings[1]", "needs exactly one"},
		{"no weekday", closing(cron.Closing{Weekly: "FOO"}), "closings[1]", "is neither a number nor a name"},
		{"no hours", closing(cron.Closing{Weekly: "MON 9-25"}), "closings[1]", "is not a range of hours"},
		{"no date", closing(cron.Closing{Dates: "2026-02-30"}), "closings[1]", "is not a date"},
		{"backwards", closing(cron.Closing{Dates: "2026-03-02..2026-03-01"}), "closings[1]", "runs backwards"},
		{"no length", closing(cron.Closing{Rule: "DTSTART:20260101\nRRULE:FREQ=DAILY", Lasts: "x"}), "closings[1]", "is not a duration"},
		{"too many closings", func(c *Calendar) { c.Closings = make([]cron.Closing, 10_001) }, "calendar", "more than 10000 closings"},
	})
	if c := (Calendar{Name: "c"}).WithDefaults(); c.Zone != "UTC" || c.Namespace != core.DefaultNamespace {
		t.Errorf("defaults %+v", c)
	}
}

func TestAScheduleTellsEveryCalendarThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := Schedule{Namespace: "ns", Name: "s", Task: "t", Blackout: []string{"a", "lunch"}, Within: []string{"lunch", "b"}}.WithDefaults()
	_, err := s.Plan(lunch, Calendar{Name: "bad", CalendarSpec: cron.CalendarSpec{Zone: "Mars/Olympus"}})
	var e *core.Error
	if !errors.As(err, &e) || len(e.Fields) != 2 || e.Fields[0].Field+" "+e.Fields[1].Field != "blackout[0] within[1]" || !strings.Contains(err.Error(), "namespace ns") {
		t.Errorf("got %v", err)
	}
	s.Blackout, s.Within = []string{"bad"}, nil
	if _, err := s.Plan(Calendar{Name: "bad", CalendarSpec: cron.CalendarSpec{Zone: "Mars/Olympus"}}); !errors.As(err, &e) || e.Fields[0].Field != "blackout[0]" {
		t.Errorf("got %v", err)
	}
	if s.Within = []string{"w"}; strings.Join(s.Calendars(), " ") != "bad w" {
		t.Errorf("calendars %v", s.Calendars())
	}
}
