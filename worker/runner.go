package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/lifecycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// RunnerOptions configures a runner of one queue. Required are Leaser, and Handlers, Executors or both.
type RunnerOptions struct {
	// Leaser leases jobs to the runner: a store, or the HTTP client.
	Leaser job.Leaser
	// Handlers are the Go functions to run.
	Handlers *Handlers
	// Executors run jobs of other kinds. Default: none.
	Executors map[task.Kind]Executor
	// Queue is the served queue. If Leaser is a store, a missing queue is created. Default: "default".
	Queue string
	// Concurrency is how many jobs run at the same time; 0 means the concurrency of the queue.
	Concurrency int
	// Poll is the interval at which the runner looks for jobs without a wake-up, 10ms to 5s. Default: 1s.
	Poll time.Duration
	// Lease is how long the jobs stay with the runner after the program is lost, 1s to 10m. Default: the server's, 30s.
	Lease time.Duration
	// Prefetch is how many jobs are claimed beyond the free slots: see [Options.Prefetch]. Negative: none. Default: as
	// many as end in 50ms.
	Prefetch int
	// Grace is how long Stop lets running jobs go on before they are cancelled and handed back. Negative: no grace.
	// Default: 30s.
	Grace time.Duration
	// Name is the displayed name of the worker. Default: the host's name.
	Name string
	// Namespace restricts the runner to jobs of one namespace. Default: the token's namespace, or all.
	Namespace string
	// Logger receives the log of the runner. Default: none.
	Logger *slog.Logger
	// Observer receives numbers for metrics. Default: none.
	Observer Observer
}

// queueMaker is a leaser that creates missing queues: a store.
type queueMaker interface {
	EnsureQueues(ctx context.Context, names ...string) error
}

// Runner serves one queue inside a program that starts and stops it. Use one runner for each queue.
type Runner struct {
	worker  *Worker
	service *lifecycle.Service
}

// NewRunner returns a runner, or an error if an option is invalid. No job runs before [Runner.Start] or [Runner.RunOnce].
func NewRunner(o RunnerOptions) (*Runner, error) {
	queue := o.Queue
	if queue == "" {
		queue = task.DefaultQueue
	}
	w, err := New(Options{
		Leaser: o.Leaser, Handlers: o.Handlers, Executors: o.Executors,
		Queues: map[string]int{queue: o.Concurrency},
		Poll:   o.Poll, Prefetch: o.Prefetch, Lease: o.Lease, Grace: o.Grace, Name: o.Name, Namespace: o.Namespace,
		Logger: o.Logger, Observer: o.Observer,
	})
	if err != nil {
		return nil, err
	}
	w.options.makes, _ = o.Leaser.(queueMaker)
	return &Runner{worker: w, service: lifecycle.New("runner of queue "+queue, w.Run)}, nil
}

// Start begins to serve the queue and returns. The runner serves until Stop is called or ctx ends. Starting it twice is an
// error.
func (r *Runner) Start(ctx context.Context) error { return r.service.Start(ctx) }

// Stop ends the runner gracefully and waits until it has ended, at most until ctx ends. Without a deadline that takes at
// most Grace and about half a minute. Stop does nothing if the runner does not run.
func (r *Runner) Stop(ctx context.Context) error { return r.service.Stop(ctx) }

// IsRunning reports whether the runner serves or is still stopping.
func (r *Runner) IsRunning() bool { return r.service.IsRunning() }

// RunOnce runs ready jobs, and jobs that these make ready, until none is left, and returns their number. It is for tests
// and for programs that another scheduler starts. It fails while the runner runs.
func (r *Runner) RunOnce(ctx context.Context) (int, error) {
	if r.IsRunning() {
		return 0, core.Errorf(core.Conflict, "the runner runs already").WithHint("stop it before RunOnce")
	}
	return r.worker.RunOnce(ctx)
}
