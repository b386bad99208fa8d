//go:build linux

package database

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Noop is the task of nearly all jobs of measurements: a Go handler that does nothing.
const Noop = "noop"

// NewJobs returns n jobs of [Noop].
func NewJobs(n int) []job.NewJob {
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		jobs[i] = job.NewJob{Task: Noop, Kind: task.KindFunc}
	}
	return jobs
}
