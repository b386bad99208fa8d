package jobs

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// cancelText says what a cancel of a job does.
func cancelText(j job.Job) string {
	begun := j.State == job.Waiting && j.Reason == "" // of a workflow or cycle: its steps or members run, and no worker has it
	switch {
	case j.State == job.Running:
		return "Its worker is told to stop it: it has the time to end well that its task gives, and is killed then."
	case begun && j.Kind == task.KindWorkflow:
		return "Jobs of its steps are asked to end, and no other step begins but cleanup. Once cleanup runs, it ends that too."
	case begun && j.Kind == task.KindCycle:
		return "The member that runs is asked to end, and no other begins."
	}
	return "It no longer starts."
}

// retryText says what a retry of a job does.
func retryText(j job.Job) string {
	if j.Kind == task.KindWorkflow {
		return "Steps that succeeded are kept. The others and cleanup begin again, as the workflow was when the run began."
	}
	return "It becomes ready again with all its attempts back and the same input, and runs as its task is now."
}
