package schedules

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/schedule"
)

// A day of the calendar says how many runs it has in the zone of the schedule,
// and what was not counted is not called free.
func TestMonthsOfAPreview(t *testing.T) {
	t.Parallel()
	sofia, err := time.LoadLocation("Europe/Sofia")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 24, 12, 0, 0, 0, sofia)
	daily := func(n int, step time.Duration) (all []schedule.Coming) {
		for i := range n {
			all = append(all, schedule.Coming{Nominal: time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC).Add(time.Duration(i) * step)}) // the 25th in Sofia
		}
		return all
	}
	day := func(months []parts.Month, m, n int) parts.MonthDay {
		for _, d := range months[m].Days {
			if d.N == n {
				return d
			}
		}
		return parts.MonthDay{}
	}
	months, until := countMonths(append(daily(3, 24*time.Hour), schedule.Coming{Nominal: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), Skipped: "blackout"}), now)
	for _, tt := range []struct {
		m, n int
		want parts.MonthDay
	}{{0, 23, parts.MonthDay{N: 23, Look: "past", Said: ""}}, {0, 24, parts.MonthDay{N: 24, Look: "", Said: ""}}, {0, 25, parts.MonthDay{N: 25, Look: "runs", Said: "1 run"}}, {0, 28, parts.MonthDay{N: 28, Look: "", Said: ""}}, {1, 2, parts.MonthDay{N: 2, Look: "", Said: ""}}} {
		if got := day(months, tt.m, tt.n); got != tt.want {
			t.Errorf("day %d of month %d is %+v, want %+v", tt.n, tt.m, got, tt.want)
		}
	}
	if !until.IsZero() || months[0].Name != "October 2026" || months[1].Days[6].N != 1 { // November begins on a Sunday
		t.Errorf("%v %+v", until, months[1])
	}
	months, until = countMonths(daily(previewDays, time.Hour), now)
	if got := day(months, 1, 1); got.Look != "runs" || day(months, 1, 20).Look != "beyond" || until.IsZero() {
		t.Errorf("%+v %+v %v", got, day(months, 1, 20), until)
	}
}
