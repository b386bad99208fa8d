package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Schedules with the same rules may be counted together only if their times do not
// depend on the name.
func TestWhetherTimesAreASchedulesOwn(t *testing.T) {
	t.Parallel()
	start := at("10:00")
	for _, row := range []struct {
		rule Rule
		from time.Time
		own  bool
	}{
		{Rule{Cron: "30 2 * * THU,MON"}, time.Time{}, false},
		{Rule{Cron: "0 0 1 MAR *"}, time.Time{}, false},
		{Rule{Cron: "H 2 * * *"}, time.Time{}, true},
		{Rule{Cron: "0 H(0-5) * * *"}, time.Time{}, true},
		{Rule{Cron: "H/10 * * * *"}, time.Time{}, true},
		{Rule{Cron: "5,H * * * *"}, time.Time{}, true},
		{Rule{Cron: "@hourly"}, time.Time{}, false},
		{Rule{Cron: "@every 90m"}, time.Time{}, true},
		{Rule{Cron: "@EVERY 90m"}, time.Time{}, true},
		{Rule{Every: core.Duration(90 * time.Minute), Anchor: AnchorPlan}, time.Time{}, true},
		{Rule{Every: core.Duration(90 * time.Minute), Anchor: AnchorPlan}, start, false},
		{Rule{RRule: "FREQ=HOURLY;BYMINUTE=7", DTStart: "2026-03-02T09:00:00"}, time.Time{}, false},
	} {
		var times [2][]time.Time
		for i, name := range []string{"one", "another"} {
			s := Schedule{Name: name, Task: "t", Start: row.from, Rules: []Rule{row.rule}}.WithDefaults()
			if s.OwnTimes() != row.own {
				t.Errorf("%s: own %t", row.rule, !row.own)
			}
			plan, err := s.Plan()
			if err != nil {
				t.Fatalf("%s: %v", row.rule, err)
			}
			times[i] = s.Upcoming(plan, start, 5)
		}
		if same := slices.EqualFunc(times[0], times[1], time.Time.Equal); same == row.own {
			t.Errorf("%s: own %t, and %v to %v", row.rule, row.own, times[0], times[1])
		}
	}
}

func TestLoadsNameThoseWithMostStarts(t *testing.T) {
	t.Parallel()
	l, err := NewLoads("UTC")
	if err != nil {
		t.Fatal(err)
	}
	of := func(names ...string) (all []LoadOf) {
		for _, n := range names {
			all = append(all, LoadOf{Schedule: n})
		}
		return all
	}
	times := func(texts ...string) (all []time.Time) {
		for _, text := range texts {
			all = append(all, at(text))
		}
		return all
	}
	l.Add(times("10:00", "10:01", "11:00"), 1, of("b"))
	l.Add(times("10:59"), 100, of("c1", "c2", "c3", "c4", "c5", "c6"))
	l.Add(times("10:00:01", "10:00:30", "10:02"), 1, of("a"))
	f := l.Forecast(false)
	if len(f.Loads) != 5 || len(f.Hours) != 2 || len(f.Busiest) != 5 || f.Busiest[0].Starts != 100 || f.Busiest[1].Starts != 3 {
		t.Fatalf("%+v", f)
	}
	h := f.Hours[0]
	if h.Starts != 105 || h.Most != 100 || !h.Minute.Equal(at("10:59")) || len(h.Top) != 5 ||
		h.Top[0] != (LoadOf{Schedule: "a", Starts: 3}) || h.Top[1] != (LoadOf{Schedule: "b", Starts: 2}) || h.Top[2] != (LoadOf{Schedule: "c1", Starts: 1}) {
		t.Errorf("%+v", h)
	}
	if got := f.Loads[0].Schedules; !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v", got)
	}
}
