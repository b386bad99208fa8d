package worker

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/worker/internal/variables"
)

// Variables are what a child process is told of its attempt: BELFRY_JOB_ID,
// BELFRY_ATTEMPT, BELFRY_TASK and so on, and its input. No token is among them.
func (r *Run) Variables() []string {
	env := []string{
		"BELFRY_JOB_ID=" + strconv.FormatInt(r.Job.ID, 10),
		"BELFRY_ATTEMPT=" + strconv.Itoa(r.Job.Attempt),
		"BELFRY_LEASE=" + strconv.FormatInt(r.Lease, 10),
		"BELFRY_TASK=" + r.Job.Task,
		"BELFRY_NAMESPACE=" + r.Job.Namespace,
		"BELFRY_QUEUE=" + r.Job.Queue,
		"BELFRY_SCHEDULE=" + r.Job.Schedule,
	}
	if !r.Job.Nominal.IsZero() {
		env = append(env, "BELFRY_NOMINAL_TIME="+r.Job.Nominal.UTC().Format(time.RFC3339Nano))
	}
	return append(env, variables.OfInput(r.Input())...)
}
