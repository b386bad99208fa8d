package tasks

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func taskTry(c *cli.CLI) *cobra.Command {
	var f taskFlags
	var trial job.TaskTrial
	var timeout wait.Time
	cmd := &cobra.Command{
		Use: "try [NAME] [flags] [-- PROGRAM ARGUMENT...]", Short: "Run a definition once on a worker, without saving it",
		Long: `Run a definition once on a worker, without saving it: one attempt, with a log
like any other, which is shown as it is written. With the NAME of a saved task,
that task runs, changed by the flags. Exit 0 if it succeeded, 1 if not. The job stays in the history; the definition is forgotten a day later.

A task that runs here, in the foreground, is: belfry run.`,
		Example: `  belfry task try --shell 'pg_dump mydb | wc -c'
  belfry task try backup --timeout 1m
  belfry task try -f task.yaml`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) (err error) {
			if trial.Task, err = triedTask(ctx, c, s, cmd, &f, args); err != nil {
				return err
			}
			made, err := s.TryTask(ctx, trial)
			if err != nil {
				return err
			}
			define.AdviseWorkers(ctx, c, s, trial.Task.WithDefaults())
			return wait.Live(ctx, c, s, made.Job, timeout)
		}),
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&trial.Key, "key", "", "idempotency key: a second trial with it is not made, the first is shown")
	cmd.Flags().Var(&timeout, "wait-timeout", "give up waiting after this long; the job goes on")
	return cmd
}

// triedTask returns the task to try: from a file, a named task with changes from
// flags, or from flags alone.
func triedTask(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *taskFlags, args []string) (t task.Task, err error) {
	name, rest, err := cli.NameAndRest(cmd, args)
	if err != nil {
		return t, err
	}
	switch {
	case f.file != "":
		err = c.Draft(s, f.file, "task", nil, &t, &t.Name, &t.Namespace)
		cli.Set(name != "", name, &t.Name)
	case name == "":
		t.Namespace, err = s.OneNamespace()
	default:
		t, err = savedOrNew(ctx, s, name, len(rest) > 0 || defines(cmd.Flags()))
	}
	if err != nil {
		return t, err
	}
	return t, f.apply(cmd.Flags(), &t, rest)
}

// savedOrNew returns the named task, or a new one if flags define it.
func savedOrNew(ctx context.Context, s *cli.Conn, name string, said bool) (task.Task, error) {
	ns, err := s.OneNamespace()
	if err != nil {
		return task.Task{}, err
	}
	t, err := s.Task(ctx, ns, name)
	if core.CodeOf(err) == core.NotFound && said {
		return task.Task{Namespace: ns, Name: name}, nil
	}
	return t, err
}

// defines reports whether a flag defines what to run.
func defines(fs *pflag.FlagSet) bool {
	for _, name := range []string{"shell", "argv", "url"} {
		if fs.Changed(name) {
			return true
		}
	}
	return false
}
