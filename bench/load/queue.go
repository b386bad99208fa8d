// Package load runs the same load on different job queues and measures the time.
//
// A queue is a small type behind [Queue]. [Local] drives one in this process.
// A queue may need another program, for its language or its versions. [Remote]
// drives it over that program's standard streams, and the program does the work of
// Local: the times are always measured in the process of the queue.
package load

import "context"

// Queue is a job queue with a caller and a worker. Each job has a number as its
// input.
type Queue interface {
	// Enqueue enqueues one job.
	Enqueue(ctx context.Context, job int64) error
	// EnqueueMany enqueues many jobs in one ordinary call. A queue without such a
	// call makes one call for each job.
	EnqueueMany(ctx context.Context, jobs []int64) error
	// Work begins to run jobs. The handler only calls ran with the number of its job.
	// stop ends the worker and waits until its results are recorded.
	Work(ctx context.Context, ran func(job int64)) (stop func() error, err error)
	// Unsettled reports whether the record has unfinished jobs.
	Unsettled(ctx context.Context) (bool, error)
	// Close releases all resources. The worker was stopped before.
	Close() error
}

// Faster is a queue with a faster call for many jobs than its ordinary one.
type Faster interface {
	EnqueueFast(ctx context.Context, jobs []int64) error
}
