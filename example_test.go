package belfry_test

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry"
)

// A node was down from half past eight to ten. The schedule makes up for the
// latest of the runs it missed, and says what became of the others.
func ExampleFire() {
	s := belfry.Schedule{Name: "report", Task: "report", Rules: []belfry.Rule{{Cron: "*/15 * * * *"}}}.WithDefaults()
	plan, err := s.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	s.State = belfry.ScheduleActive
	s.HighWater = time.Date(2026, 3, 2, 8, 30, 0, 0, time.UTC)
	now := time.Date(2026, 3, 2, 10, 0, 3, 0, time.UTC)

	f := belfry.Fire(s, plan, belfry.Facts{}, now)
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

// An attempt failed, and the job has tries left.
func ExampleSettle() {
	job := belfry.Job{ID: 42, MaxAttempts: 3}
	retry := belfry.Retry{MaxAttempts: 3, Backoff: belfry.BackoffFixed, Delay: belfry.Duration(time.Minute), MaxDelay: belfry.Duration(time.Hour)}
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

	s := belfry.Settle(job, retry, belfry.Finish{Outcome: belfry.OutcomeError, Error: "exit status 1"}, now)
	fmt.Println(s.State, s.DueAt.Format(time.TimeOnly), s.Failures)

	job.Failures = 2
	s = belfry.Settle(job, retry, belfry.Finish{Outcome: belfry.OutcomeError, Error: "exit status 1"}, now)
	fmt.Println(s.State, s.Reason)
	// Output:
	// scheduled 10:01:00 1
	// failed spent
}

func ExampleParseDuration() {
	for _, text := range []string{"90s", "7d", "1w2d", "1d12h", "5"} {
		d, err := belfry.ParseDuration(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(d)
	}
	// Output:
	// 1m30s
	// 7d
	// 9d
	// 36h
	// "5" has no unit, write "5s" or "5m"
}
