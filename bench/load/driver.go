package load

import (
	"context"
	"time"
)

// Driver puts one queue under load. Its methods are called one at a time.
type Driver interface {
	// Insert enqueues jobs without running them.
	Insert(ctx context.Context, in Insert) (Inserted, error)
	// BurnDown starts the worker and waits until the inserted jobs have ended.
	// The worker runs until Stop.
	BurnDown(ctx context.Context) (Burnt, error)
	// EndToEnd enqueues while the worker runs, and waits until all jobs have ended.
	EndToEnd(ctx context.Context, in Insert) (Inserted, error)
	// Offer enqueues at a given rate while the worker runs, and returns the start
	// latency of the jobs.
	Offer(ctx context.Context, o Offer) (Offered, error)
	// Start starts the worker; Stop ends it and waits.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	// Close ends the queue, and its process if it has one of its own.
	Close() error
}

// Insert has the number of jobs to enqueue, or the time for as many as possible.
type Insert struct {
	Jobs    int           `json:"jobs"`
	For     time.Duration `json:"for"` // no call begins after this time; 0: no limit
	Callers int           `json:"callers"`
	Batch   int           `json:"batch"` // jobs in a call; 1: the call for one job
	Fast    bool          `json:"fast"`  // the fastest call of the queue, instead of the ordinary one
}

// Inserted is the result of an [Insert].
type Inserted struct {
	Jobs int           `json:"jobs"`
	Took time.Duration `json:"took"`
}

// PerSecond returns the rate.
func (i Inserted) PerSecond() float64 { return float64(i.Jobs) / i.Took.Seconds() }

// Burnt has the times of a burn-down, from the moment before the worker's start.
type Burnt struct {
	Jobs    int           `json:"jobs"`
	Started time.Duration `json:"started"` // until the last job's handler had begun
	Settled time.Duration `json:"settled"` // until every job was recorded as finished
}

// Offer is a load whose rate does not depend on the speed of the queue.
type Offer struct {
	Rate    float64       `json:"rate"` // jobs per second
	For     time.Duration `json:"for"`
	Callers int           `json:"callers"`
	// Jitter moves each job by up to half of the gap to the next, either way.
	Jitter bool `json:"jitter"`
	// Gap is the least time between two calls of a caller. A call has all due jobs of
	// the caller. 0: one job in a call.
	Gap time.Duration `json:"gap"`
	// Patience is the time to wait for the last job after the last call.
	Patience time.Duration `json:"patience"`
}

// Offered is the result of an [Offer].
type Offered struct {
	Jobs     int     `json:"jobs"`
	Missing  int     `json:"missing"`   // did not start in time; they count as started at the end
	FromCall Latency `json:"from_call"` // from the begin of the call to the handler's first line
	FromDue  Latency `json:"from_due"`  // from the due time of the call, so that late calls count
}

// Latency is a distribution.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}
