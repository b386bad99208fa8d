package cron_test

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/cron"
)

func ExampleParse() {
	rule, err := cron.Parse("CRON_TZ=Europe/Sofia 0 9 * * mon-fri", cron.Options{})
	fmt.Println(rule, err)
	fmt.Println(rule.Explain())

	_, err = cron.Parse("0 9 * * MOX", cron.Options{})
	fmt.Println(err)
	// Output:
	// CRON_TZ=Europe/Sofia 0 9 * * MON-FRI <nil>
	// At 09:00 on Monday to Friday, Europe/Sofia time.
	// weekday "MOX" (column 9) is neither a number nor a name; understood so far: minute 0, hour 9, day of month *, month *; did you mean "0 9 * * MON"?
}

func ExampleExpr_Next() {
	zone, _ := cron.LoadZone("America/New_York")
	rule, _ := cron.Parse("30 2 * * *", cron.Options{Zone: zone})
	t := time.Date(2026, 3, 7, 0, 0, 0, 0, zone)
	for range 3 {
		t = rule.Next(t)
		fmt.Printf("%s %q\n", t.Format("Mon 2 Jan 15:04 MST"), rule.Note(t))
	}
	// Output:
	// Sat 7 Mar 02:30 EST ""
	// Sun 8 Mar 03:00 EDT "02:30 does not exist on 2026-03-08 in America/New_York: runs at 03:00"
	// Mon 9 Mar 02:30 EDT ""
}

func ExampleParseRRule() {
	rule, err := cron.ParseRRule(`DTSTART;TZID=Europe/Sofia:20260101T180000
RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1
EXDATE;TZID=Europe/Sofia:20260227T180000`, cron.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range cron.Upcoming(rule, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 3) {
		fmt.Println(t.Format("Mon 2006-01-02 15:04 MST"))
	}
	// Output:
	// Fri 2026-01-30 18:00 EET
	// Tue 2026-03-31 18:00 EEST
	// Thu 2026-04-30 18:00 EEST
}

func ExampleCalendar_Closed() {
	calendar, _ := cron.NewCalendar(cron.CalendarSpec{Zone: "Europe/Sofia", Closings: []cron.Closing{
		{Weekly: "SAT-SUN", Name: "weekend"},
		{Dates: "12-24..12-26", Name: "Christmas"},
	}})
	t := time.Date(2026, 12, 24, 9, 0, 0, 0, calendar.Zone())
	fmt.Println(calendar.Closed(t))
	fmt.Println(calendar.NextOpen(t).Format("Mon 2006-01-02 15:04"))
	// Output:
	// true Christmas
	// Mon 2026-12-28 00:00
}

func ExampleUnion() {
	daily, _ := cron.Parse("0 9 * * *", cron.Options{})
	hourly, _ := cron.Parse("0 8-10 * * *", cron.Options{})
	for _, t := range cron.Upcoming(cron.Union(daily, hourly), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 4) {
		fmt.Println(t.Format("2 Jan 15:04"))
	}
	// Output:
	// 1 Jan 08:00
	// 1 Jan 09:00
	// 1 Jan 10:00
	// 2 Jan 08:00
}
