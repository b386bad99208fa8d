package load

import (
	"context"
	"time"
)

// Driver puts one queue under load. Its methods are called one at a time.
type Driver interface {
	// Insert enqueues and runs nothing.
	Insert(ctx context.Context, in Insert) (Inserted, error)
	// BurnDown starts the worker and waits until what was inserted has ended.
	// The worker goes on until Stop.
	BurnDown(ctx context.Context) (Burnt, error)
	// EndToEnd enqueues while the worker runs, and waits until all has ended.
	EndToEnd(ctx context.Context, in Insert) (Inserted, error)
	// Offer enqueues at a given rate while the worker runs, and tells how long
	// jobs took to start.
	Offer(ctx context.Context, o Offer) (Offered, error)
	// Start starts the worker; Stop ends it and waits.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	// Close ends the queue, and its process if it has one of its own.
	Close() error
}

// Insert says what to enqueue: so many jobs, or as many as there is time for.
type Insert struct {
	Jobs    int           `json:"jobs"`
	For     time.Duration `json:"for"` // no call begins after it; 0: no limit
	Callers int           `json:"callers"`
	Batch   int           `json:"batch"` // jobs in a call; 1: the call for one job
	Fast    bool          `json:"fast"`  // the fastest call there is, instead of the ordinary one
}

// Inserted is what an [Insert] did.
type Inserted struct {
	Jobs int           `json:"jobs"`
	Took time.Duration `json:"took"`
}

// PerSecond is the rate.
func (i Inserted) PerSecond() float64 { return float64(i.Jobs) / i.Took.Seconds() }

// Burnt is what a burn-down took, from the moment before the worker's start.
type Burnt struct {
	Jobs    int           `json:"jobs"`
	Started time.Duration `json:"started"` // until the last job's handler had begun
	Settled time.Duration `json:"settled"` // until the record had every job as finished
}

// Offer is a load whose rate does not depend on how the queue copes with it.
type Offer struct {
	Rate    float64       `json:"rate"` // jobs per second
	For     time.Duration `json:"for"`
	Callers int           `json:"callers"`
	// Jitter moves each job by up to half of the gap to the next, either way.
	Jitter bool `json:"jitter"`
	// Gap is what a caller leaves between two calls at least. It sends all that
	// has come due for it in one call. 0: one job in a call.
	Gap time.Duration `json:"gap"`
	// Patience is how long to wait for the last job after the last call.
	Patience time.Duration `json:"patience"`
}

// Offered is what came of an [Offer].
type Offered struct {
	Jobs     int     `json:"jobs"`
	Missing  int     `json:"missing"`   // did not start in time; they count as if they had started just then
	FromCall Latency `json:"from_call"` // from the begin of the call to the handler's first line
	FromDue  Latency `json:"from_due"`  // the same from when the call was to be made, so that late calls count
}

// Latency is a distribution.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}
