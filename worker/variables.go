package worker

import "github.com/belfry-run/belfry/worker/internal/variables"

// Variables are what a child process is told of its attempt: BELFRY_JOB_ID,
// BELFRY_ATTEMPT, BELFRY_TASK and so on, and its input. No token is among them.
func (r *Run) Variables() []string {
	return append(variables.OfJob(r.Job, r.Lease), variables.OfInput(r.Input())...)
}
