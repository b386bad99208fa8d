package schedule_test

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/schedule"
)

// A node was down from 08:30 to 10:00. The schedule catches up the latest missed run,
// and records the decisions about the others.
func ExampleFire() {
	s := schedule.Schedule{Name: "report", Task: "report", Rules: []schedule.Rule{{Cron: "*/15 * * * *"}}}.WithDefaults()
	plan, err := s.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	s.State = schedule.Active
	s.HighWater = time.Date(2026, 3, 2, 8, 30, 0, 0, time.UTC)
	now := time.Date(2026, 3, 2, 10, 0, 3, 0, time.UTC)

	f := schedule.Fire(s, plan, schedule.Facts{}, now)
	for _, o := range f.Occurrences {
		fmt.Printf("%s x%d %s %q\n", o.Nominal.Format(time.TimeOnly), o.Count, o.Decision, o.Reason)
	}
	fmt.Println("next", f.NextAt.Format(time.TimeOnly))
	// Output:
	// 08:45:00 x2 skipped "catchup_window"
	// 09:15:00 x3 skipped "catchup_latest"
	// 10:00:00 x1 job ""
	// next 10:15:00
}
