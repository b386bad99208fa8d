package worker

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Observer is told numbers. Its methods are called from many goroutines and
// must not block.
type Observer interface {
	// Claimed says how many jobs one claim brought. A failed claim has an error.
	Claimed(queue string, jobs int, took time.Duration, err error)
	// Ended says how one attempt ended on this worker, and how long it ran.
	Ended(queue string, kind task.Kind, outcome job.Outcome, took time.Duration)
	// Reported says how one batch of results was received, and how many of
	// them came too late.
	Reported(results, stale int, took time.Duration, err error)
	// Renewed says how one renewal went.
	Renewed(took time.Duration, err error)
	// Lost says that a session ended with that many jobs still held.
	Lost(held int)
}

// NoObserver ignores everything. Embed it to listen to a part.
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
