package wait

import (
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

func TestStatesOfJobsThatWait(t *testing.T) {
	for want, j := range map[string]job.Job{
		"scheduled": {State: job.Scheduled},
		"retrying":  {State: job.Scheduled, Failures: 1},
		"snoozed":   {State: job.Scheduled, Failures: 1, Reason: schedule.ReasonSnoozed},
		"ready":     {State: job.Ready, Failures: 1},
	} {
		if got := State(j); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
