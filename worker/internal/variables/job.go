package variables

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/job"
)

// OfJob returns the variables that name a job and its attempt.
func OfJob(j *job.Job, lease int64) []string {
	env := []string{
		"BELFRY_JOB_ID=" + strconv.FormatInt(j.ID, 10),
		"BELFRY_ATTEMPT=" + strconv.Itoa(j.Attempt),
		"BELFRY_LEASE=" + strconv.FormatInt(lease, 10),
		"BELFRY_TASK=" + j.Task,
		"BELFRY_NAMESPACE=" + j.Namespace,
		"BELFRY_QUEUE=" + j.Queue,
		"BELFRY_SCHEDULE=" + j.Schedule,
	}
	if !j.Nominal.IsZero() {
		env = append(env, "BELFRY_NOMINAL_TIME="+j.Nominal.UTC().Format(time.RFC3339Nano))
	}
	return env
}
