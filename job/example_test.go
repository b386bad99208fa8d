package job_test

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// An attempt failed, and the job has attempts left.
func ExampleSettle() {
	j := job.Job{ID: 42, MaxAttempts: 3}
	retry := task.Retry{MaxAttempts: 3, Backoff: task.BackoffFixed, Delay: core.Duration(time.Minute), MaxDelay: core.Duration(time.Hour)}
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

	s := job.Settle(j, retry, job.Finish{Outcome: job.OutcomeError, Error: "exit status 1"}, now)
	fmt.Println(s.State, s.DueAt.Format(time.TimeOnly), s.Failures)

	j.Failures = 2
	s = job.Settle(j, retry, job.Finish{Outcome: job.OutcomeError, Error: "exit status 1"}, now)
	fmt.Println(s.State, s.Reason)
	// Output:
	// scheduled 10:01:00 1
	// failed exhausted
}
