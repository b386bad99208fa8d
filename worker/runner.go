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

// RunnerOptions is what a runner of one queue needs. Broker is required, and Handlers, Executors or both.
type RunnerOptions struct {
	// Broker hands out the jobs: a store, or the HTTP client.
	Broker job.Leaser
	// Handlers are the Go functions to run.
	Handlers *Handlers
	// Executors run other kinds. Default: none.
	Executors map[task.Kind]Executor
	// Queue that is served. One that is missing is made, where Broker is a store. Default: "default".
	Queue string
	// Concurrency is how many jobs run at the same time; 0: as many as the queue itself says.
	Concurrency int
	// Poll is the fallback to wake-ups: how often the runner looks for jobs without an announcement. 10ms to 5s; default:
	// 1s.
	Poll time.Duration
	// Lease is how long its jobs stay with it when the program is lost. 1s to 10m; default: the broker's, 30s.
	Lease time.Duration
	// Prefetch is how many jobs are claimed beyond the free slots: see [Options.Prefetch]. Negative: none. Default: as
	// many as end in 50ms.
	Prefetch int
	// Grace is how long Stop lets running jobs go on before they are cancelled and handed back. Negative: not at all.
	// Default: 30s.
	Grace time.Duration
	// Name is what people see. Default: the host's name.
	Name string
	// Namespace whose jobs are run. Default: the token's, or all.
	Namespace string
	// Logger receives what the runner does. Default: none.
	Logger *slog.Logger
	// Observer receives numbers for metrics. Default: none.
	Observer Observer
}

// queueMaker is a broker that makes queues which are missing: a store.
type queueMaker interface {
	EnsureQueues(ctx context.Context, names ...string) error
}

// Runner serves one queue inside a program that starts and stops it. For several queues make several runners.
type Runner struct {
	worker  *Worker
	service *lifecycle.Service
}

// NewRunner checks the options. Nothing runs before [Runner.Start] or [Runner.RunOnce].
func NewRunner(o RunnerOptions) (*Runner, error) {
	queue := o.Queue
	if queue == "" {
		queue = task.DefaultQueue
	}
	w, err := New(Options{
		Broker: o.Broker, Handlers: o.Handlers, Executors: o.Executors,
		Queues: map[string]int{queue: o.Concurrency},
		Poll:   o.Poll, Prefetch: o.Prefetch, Lease: o.Lease, Grace: o.Grace, Name: o.Name, Namespace: o.Namespace,
		Logger: o.Logger, Observer: o.Observer,
	})
	if err != nil {
		return nil, err
	}
	w.options.makes, _ = o.Broker.(queueMaker)
	return &Runner{worker: w, service: lifecycle.New("runner of queue "+queue, w.Run)}, nil
}

// Start begins to serve and returns. It serves until Stop is called or the context ends. Starting it twice is an error.
func (r *Runner) Start(ctx context.Context) error { return r.service.Start(ctx) }

// Stop ends it gracefully and waits until it has ended, at most until the context ends. Without a deadline that takes no
// longer than Grace and about half a minute. Stopping what does not run does nothing.
func (r *Runner) Stop(ctx context.Context) error { return r.service.Stop(ctx) }

// IsRunning reports whether it serves, or is still stopping.
func (r *Runner) IsRunning() bool { return r.service.IsRunning() }

// RunOnce runs what is ready, and what that makes ready, and returns how many jobs that were. It is for programs that
// are started by something else, and for tests; it is refused while the runner runs.
func (r *Runner) RunOnce(ctx context.Context) (int, error) {
	if r.IsRunning() {
		return 0, core.Errorf(core.Conflict, "the runner runs already").WithHint("stop it before RunOnce")
	}
	return r.worker.RunOnce(ctx)
}
