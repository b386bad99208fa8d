package schedules

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// A day of the month says what ran and what will, by nominal day in the schedule's zone.
func TestMonthOfASchedule(t *testing.T) {
	t.Parallel()
	sofia, err := time.LoadLocation("Europe/Sofia")
	if err != nil {
		t.Fatal(err)
	}
	first, today := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC)
	on := func(day int) time.Time { return time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC) }
	days := []view.DayTotals{{Day: on(1), OK: 3}, {Day: on(2), OK: 2, Failed: 1}, {Day: on(3), Skipped: 4}, {Day: on(24), OK: 1}}
	coming := []schedule.Coming{
		{Nominal: time.Date(2026, 10, 24, 20, 30, 0, 0, time.UTC)}, // 23:30 of the 24th
		{Nominal: time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC)}, // 01:30 of the 25th
		{Nominal: time.Date(2026, 10, 25, 21, 30, 0, 0, time.UTC)}, // 23:30 of the 25th, after the clock went back
		{Nominal: time.Date(2026, 10, 26, 12, 0, 0, 0, time.UTC), Skipped: "blackout"},
		{Nominal: time.Date(2026, 10, 31, 22, 30, 0, 0, time.UTC)}, // of November
	}
	m := monthOf(first, today, days, coming, sofia)
	if m.Name != "October 2026" || !m.Big || len(m.Weeks()) != 5 || m.Weeks()[0][3].N != 1 { // a Thursday
		t.Errorf("%+v", m)
	}
	for _, want := range []parts.MonthDay{
		{N: 1, Look: "went-well", Said: "3 succeeded", Good: "3"},
		{N: 2, Look: "had-failures", Said: "2 succeeded, 1 failed", Good: "2", Bad: "✗ 1"},
		{N: 3, Look: "ran-nothing", Said: "4 skipped"},
		{N: 4, Look: "past"},
		{N: 24, Look: "went-well today", Said: "today, 1 succeeded, 1 to come", Good: "1", Ahead: "1"},
		{N: 25, Look: "to-come", Said: "2 to come", Ahead: "2"},
		{N: 26},
		{N: 31},
	} {
		if got := m.Days[want.N+2]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	coming = nil
	for i := range schedule.MaxLook { // each quarter of an hour: 10 days and 10 hours
		coming = append(coming, schedule.Coming{Nominal: time.Date(2026, 10, 15, 0, 0, 0, 0, sofia).Add(time.Duration(i) * 15 * time.Minute)})
	}
	m = monthOf(first, on(15), nil, coming, sofia)
	for _, want := range []parts.MonthDay{
		{N: 15, Look: "to-come today", Said: "today, 96 to come", Ahead: "96"},
		{N: 25, Look: "to-come", Said: "40 to come, or more", Ahead: "40+"},
		{N: 26, Said: "not counted", Ahead: "?"},
	} {
		if got := m.Days[want.N+2]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
