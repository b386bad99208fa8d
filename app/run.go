package app

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// RunTask executes a command or a request once, in this process and without a
// queue. It stores nothing. The caller must have decided that commands may run
// here.
func RunTask(ctx context.Context, c config.Config, version string, t task.Task, input json.RawMessage, stdout, stderr io.Writer) (job.Finish, error) {
	c.AllowCommands = true
	w := Workers{Config: c, Version: version, Logger: slog.New(slog.DiscardHandler)}
	list, err := w.executors()
	if err != nil {
		return job.Finish{}, err
	}
	if list[t.Kind] == nil {
		return job.Finish{}, core.Errorf(core.Invalid, "tasks of kind %s cannot be run here", t.Kind).
			WithHint("belfry job enqueue %s --wait", t.Name)
	}
	return worker.Direct(ctx, list, t, input, stdout, stderr), nil
}
