package worker

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Observer receives numbers for metrics. Its methods are called from many
// goroutines and must not block.
type Observer interface {
	// Claimed is called after each claim, with the number of jobs. A failed claim
	// has an error.
	Claimed(queue string, jobs int, took time.Duration, err error)
	// Ended is called after each attempt, with its outcome and duration.
	Ended(queue string, kind task.Kind, outcome job.Outcome, took time.Duration)
	// Reported is called after each delivery of results. stale is how many of
	// them came too late.
	Reported(results, stale int, took time.Duration, err error)
	// Renewed is called after each renewal.
	Renewed(took time.Duration, err error)
	// Lost is called when a session is lost, with the number of jobs still held.
	Lost(held int)
}

// NoObserver ignores all calls. Embed it to implement a part of [Observer].
type NoObserver struct{}

// Claimed implements [Observer].
func (NoObserver) Claimed(string, int, time.Duration, error) {}

// Ended implements [Observer].
func (NoObserver) Ended(string, task.Kind, job.Outcome, time.Duration) {}

// Reported implements [Observer].
func (NoObserver) Reported(int, int, time.Duration, error) {}

// Renewed implements [Observer].
func (NoObserver) Renewed(time.Duration, error) {}

// Lost implements [Observer].
func (NoObserver) Lost(int) {}
