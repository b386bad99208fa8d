// Package load puts one job queue after the other under the same load, and says
// how long it took.
//
// A queue is a small type behind [Queue]. [Local] drives one in this process.
// A queue that lives in another program, for its language or for the versions
// it needs, is driven by [Remote] over that program's standard streams, and
// does there what Local does here: the clock always runs beside the queue.
package load

import "context"

// Queue is a job queue with a caller and a worker. Jobs are known by numbers,
// which travel as their input.
type Queue interface {
	// Enqueue asks for one job.
	Enqueue(ctx context.Context, job int64) error
	// EnqueueMany asks for many in one call, the ordinary way. A queue that has
	// no such call makes one call for each.
	EnqueueMany(ctx context.Context, jobs []int64) error
	// Work begins to run jobs. The first line of the handler calls ran with the
	// job's number, and there is no other line. Stop ends the worker and waits
	// until what it did is in the record.
	Work(ctx context.Context, ran func(job int64)) (stop func() error, err error)
	// Unsettled reports whether the record has jobs that are not finished.
	Unsettled(ctx context.Context) (bool, error)
	// Close gives everything back. The worker was stopped before.
	Close() error
}

// Faster is a queue with a faster way to take many jobs than its ordinary one.
type Faster interface {
	EnqueueFast(ctx context.Context, jobs []int64) error
}
