package jobs

import (
	"testing"

	"github.com/belfry-run/belfry/job"
)

// What a machine spoiled and what was handed back is no try: 2/1 would say that there was one too many.
func TestTriesLeaveOutLostAndHandedBackAttempts(t *testing.T) {
	t.Parallel()
	for want, j := range map[string]job.Job{
		"":    {State: job.Ready, MaxAttempts: 3},
		"1/1": {State: job.Running, Attempt: 2, Infra: 1, MaxAttempts: 1},
		"1/2": {State: job.Ready, Attempt: 1, MaxAttempts: 2},
		"2/3": {State: job.Succeeded, Attempt: 4, Failures: 1, Infra: 2, MaxAttempts: 3},
		"3/3": {State: job.Failed, Attempt: 3, Failures: 3, MaxAttempts: 3},
	} {
		if got := tryText(j); got != want {
			t.Errorf("%q, want %q: %+v", got, want, j)
		}
	}
}
