package parts

import (
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

func TestChipsOfJobsThatWait(t *testing.T) {
	for want, j := range map[string]job.Job{
		"scheduled": {State: job.Scheduled},
		"retrying":  {State: job.Scheduled, Attempt: 1, Failures: 1},
		"snoozed":   {State: job.Scheduled, Attempt: 2, Failures: 1, Reason: schedule.ReasonSnoozed},
	} {
		if got := jobChip(j).Word; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
