package schedules

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/schedule"
)

// hoursOf is a week in which so many runs start in each hour of a day.
func hoursOf(zone *time.Location, starts func(hour int) int) (f schedule.Forecast) {
	begin := time.Date(2026, 3, 26, 0, 0, 0, 0, zone) // on the 29th clocks go forward
	for at := begin; at.Before(begin.AddDate(0, 0, 7)); at = at.Add(time.Hour) {
		if n := starts(at.Hour()); n > 0 {
			f.Hours = append(f.Hours, schedule.LoadHour{Hour: at, Starts: n})
		}
	}
	return f
}

func TestQuietHours(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Sofia")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		starts func(hour int) int
		want   string
	}{
		{"all hours alike", func(int) int { return 5 }, "[]"},
		{"a busy morning", func(hour int) int {
			switch hour {
			case 22, 23:
				return 0
			case 3: // 6 and not 7 of them, because the clock skips one
				return 1
			case 4:
				return 0
			}
			return 10
		}, "[{22:00 00:00 0} {03:00 05:00 6}]"},
		{"one a day", func(hour int) int { return map[int]int{1: 1}[hour] }, "[{02:00 04:00 0} {04:00 06:00 0} {06:00 08:00 0}]"},
		{"nothing", func(int) int { return 0 }, "[{00:00 02:00 0} {02:00 04:00 0} {04:00 06:00 0}]"},
	} {
		if got := fmt.Sprint(quietest(hoursOf(zone, test.starts), zone)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	f := hoursOf(zone, func(hour int) int { return hour })
	if f.Partial = true; quietest(f, zone) != nil {
		t.Error("of starts that were not all counted it says which hours are quiet")
	}
}

// A minute that comes back each night is one row, however often it is among the busiest.
func TestBusiestMinutesWithTheSameStartsAreOneRow(t *testing.T) {
	day := func(n, starts int, schedules ...string) schedule.Load {
		return schedule.Load{Minute: time.Date(2026, 11, n, 3, 30, 0, 0, time.UTC), Starts: starts, Schedules: schedules}
	}
	all := alike([]schedule.Load{day(1, 4, "a", "b"), day(2, 4, "a", "b"), day(3, 3, "a", "b"), day(4, 3, "a", "c"), day(5, 3, "a", "b"), day(6, 1, "a")})
	var got []string
	for _, of := range all {
		got = append(got, fmt.Sprint(of[0].Minute.Day(), "x", len(of), " ", of[0].Starts, of[0].Schedules))
	}
	if text := fmt.Sprint(got); text != "[1x2 4 [a b] 3x2 3 [a b] 4x1 3 [a c]]" {
		t.Error(text)
	}
}
