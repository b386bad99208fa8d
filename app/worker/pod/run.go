package pod

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// RunOptions are the options of the second process.
type RunOptions struct {
	Dir string // shared folder
	// Connect returns the leaser for exactly this attempt, with its token: it takes
	// over the session, returns the job once, and renews tokens by itself.
	Connect func(Handover) (job.Leaser, error)
	// Executor returns the executor of the program. It is called after the file
	// with the token is deleted.
	Executor func(ctx context.Context, h Handover) (worker.Executor, task.Has, error)
	Spool    *worker.Spool
	Name     string
	Version  string
	Grace    time.Duration // as [worker.Options.Grace]
	Logger   *slog.Logger
}

// reportFor is how long the result is sent again to an unreachable server: no
// later process could send it.
const reportFor = 10 * time.Minute

// Run runs the job of the handover and reports the result. A failure of the
// program is not an error of Run: the server decides what follows.
func Run(ctx context.Context, o RunOptions) error {
	h, err := take(o.Dir)
	if err != nil {
		return err
	}
	h.Session.Queues = map[string]int{h.Leased.Job.Queue: 1}
	h.Session.Order = []string{h.Leased.Job.Queue}
	b, err := o.Connect(h)
	if err != nil {
		return err
	}
	ex, has, err := o.Executor(ctx, h)
	if err != nil {
		return failed(ctx, b, h, err)
	}
	w, err := worker.New(worker.Options{
		Leaser: b, Name: o.Name, Version: o.Version, Has: has, Spool: o.Spool,
		Queues:    h.Session.Queues,
		Executors: map[task.Kind]worker.Executor{task.KindProgram: ex},
		Grace:     o.Grace, Prefetch: -1, Linger: reportFor, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	_, err = w.RunOnce(ctx)
	return err
}

// failed reports to the server that this machine cannot run the program, so that the
// server need not wait for the end of the lease.
func failed(ctx context.Context, b job.Leaser, h Handover, why error) error {
	f := h.unstarted(ctx, why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	if _, err := b.Finish(ctx, h.Session.ID, []job.Finish{f}); err != nil {
		return err
	}
	return why
}
