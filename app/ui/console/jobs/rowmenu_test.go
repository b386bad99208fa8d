package jobs

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
)

// The job of a step is retried by its workflow. A button would only be refused.
func TestTheJobOfAStepHasNoRetry(t *testing.T) {
	t.Parallel()
	for _, j := range []job.Job{{State: job.Failed, Trigger: job.TriggerStep}, {State: job.Canceled, Trigger: job.TriggerStep}, {State: job.Failed}} {
		if lacks := strings.Contains(jobLacks(j), "retry"); lacks != (j.Trigger == job.TriggerStep) {
			t.Errorf("%s of %q: lacks %q", j.State, j.Trigger, jobLacks(j))
		}
	}
}
