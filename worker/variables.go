package worker

import "github.com/belfry-run/belfry/worker/internal/variables"

// Variables returns the environment variables for a child process of the
// attempt: BELFRY_JOB_ID, BELFRY_ATTEMPT, BELFRY_TASK and so on, and the input.
// They contain no token.
func (r *Run) Variables() []string {
	return append(variables.OfJob(r.Job, r.Lease), variables.OfInput(r.Input())...)
}
