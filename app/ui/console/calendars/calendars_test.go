package calendars

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/cron"
)

// In some zones clocks go forward at midnight, and a day begins at 01:00. Each
// day is there once all the same, and is closed when its own hours are.
func TestMonthsOfZonesThatLoseMidnight(t *testing.T) {
	for zone, day := range map[string]time.Time{
		"America/Santiago": time.Date(2024, 9, 8, 0, 0, 0, 0, time.UTC),
		"America/Havana":   time.Date(2024, 3, 10, 0, 0, 0, 0, time.UTC),
		"Europe/Sofia":     time.Date(2024, 3, 31, 0, 0, 0, 0, time.UTC), // which loses 03:00
	} {
		cal, err := cron.NewCalendar(cron.CalendarSpec{Zone: zone, Closings: []cron.Closing{{Name: "rest", Weekly: "SUN"}, {Name: "eve", Weekly: "SAT 22:00-24:00"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range monthsOf(cal, day.AddDate(0, 0, -1)) {
			first, err := time.Parse("January 2006", m.Name)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for i, d := range m.Days {
				if d.N == 0 {
					continue
				}
				n++
				at := first.AddDate(0, 0, n-1)
				want := map[time.Weekday]parts.MonthDay{time.Sunday: {Look: "all", Said: "rest"}, time.Saturday: {Look: "part", Said: "eve, from 22:00"}}[at.Weekday()]
				if want.N = n; d != want || (i+1)%7 != int(at.Weekday()) {
					t.Errorf("%s: %s is %+v in column %d, want %+v", zone, at.Format("Mon 2 Jan 2006"), d, i%7+1, want)
				}
			}
			if last := first.AddDate(0, 1, -1).Day(); n != last {
				t.Errorf("%s: %s has %d days of %d", zone, m.Name, n, last)
			}
		}
	}
}
