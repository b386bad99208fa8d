package workers

import (
	"context"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// Queues stores queues.
type Queues interface {
	// SaveQueue creates or replaces a queue. A pause is kept.
	SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error)
	DeleteQueue(ctx context.Context, name string) error
	Queue(ctx context.Context, name string) (job.QueueStats, error)
	Queues(ctx context.Context) ([]job.QueueStats, error)
	QueueList(ctx context.Context) ([]job.Queue, error)
	PauseQueue(ctx context.Context, name, reason string) (job.Queue, error)
	ResumeQueue(ctx context.Context, name string) (job.Queue, error)
	// QueueLimitUse returns the present use of the limits of a queue.
	QueueLimitUse(ctx context.Context, name string) ([]view.LimitUse, error)
}

// Workers lists workers.
type Workers interface {
	// Workers lists live sessions and, with ended, also sessions that ended within
	// retention.
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
	// DrainWorker asks a worker to finish its running jobs and claim no more.
	DrainWorker(ctx context.Context, session string) error
}
