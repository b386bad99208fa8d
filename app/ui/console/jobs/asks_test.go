package jobs

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A dialog says what happens: a run that is under way does not stop by not starting, and goes on as it began.
func TestDialogsOfRunsSayWhatHappens(t *testing.T) {
	t.Parallel()
	const starts, now = "It no longer starts.", "as its task is now"
	for _, c := range []struct {
		job           job.Job
		cancel, retry string
	}{
		{job.Job{Kind: task.KindWorkflow, State: job.Waiting}, "no other step begins but cleanup", "as the workflow was when the run began"},
		{job.Job{Kind: task.KindWorkflow, State: job.Waiting, Reason: "limit"}, starts, "as the workflow was when the run began"},
		{job.Job{Kind: task.KindCycle, State: job.Waiting}, "The member that runs is asked to end", now},
		{job.Job{Kind: task.KindFunc, State: job.Waiting, Reason: "limit"}, starts, now},
		{job.Job{Kind: task.KindFunc, State: job.Running}, "Its worker is told to stop it", now},
	} {
		if got := cancelText(c.job); !strings.Contains(got, c.cancel) {
			t.Errorf("cancel of a %s that is %s: got %q, want %q", c.job.Kind, c.job.State, got, c.cancel)
		}
		if got := retryText(c.job); !strings.Contains(got, c.retry) {
			t.Errorf("retry of a %s: got %q, want %q", c.job.Kind, got, c.retry)
		}
	}
}
