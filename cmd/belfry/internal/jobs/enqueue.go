package jobs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func jobEnqueue(c *cli.CLI) *cobra.Command {
	var (
		n                      job.NewJob
		input, delay, at, zone string
		keyWindow, timeout     string
		priority               int
		fn                     bool
		w                      wait.Flags
	)
	cmd := &cobra.Command{
		Use: "enqueue TASK", Aliases: []string{"create"}, Short: "Ask for one execution of a task", Args: cobra.ExactArgs(1),
		Example: `  belfry job enqueue backup --wait
  belfry job enqueue mail --input '{"to": "someone"}' --key order-1042
  belfry job enqueue report --delay 10m`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			n.Namespace, n.Task = ns, args[0]
			given := cmd.Flags().Changed
			cli.Set(given("priority"), &priority, &n.Priority)
			cli.Set(fn, task.KindFunc, &n.Kind)
			err = errors.Join(cli.JSONText(given("input"), input, &n.Input), cli.Duration(given, "delay", delay, &n.Delay), cli.Duration(given, "key-window", keyWindow, &n.KeyWindow),
				cli.Duration(given, "timeout", timeout, &n.Timeout), cli.Instant(at != "", "--at", at, zone, &n.DueAt))
			if err != nil {
				return err
			}
			made, err := s.Enqueue(ctx, []job.NewJob{n})
			if err != nil {
				return wait.Unanswered(err, n.Key, "belfry job list --task "+n.Task)
			}
			return wait.Made(ctx, c, s, made[0], w)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "JSON for the job; default: the task's input")
	f.StringVar(&delay, "delay", "", "not before this long from now")
	f.StringVar(&at, "at", "", "not before this time")
	f.StringVar(&zone, "zone", "", "time zone of --at; default: UTC")
	f.StringVar(&n.Queue, "queue", "", "default: the task's queue")
	f.IntVar(&priority, "priority", 0, "default: the task's priority")
	f.IntVar(&n.MaxAttempts, "max-attempts", 0, "default: as the task says")
	f.StringVar(&timeout, "timeout", "", "default: the task's timeout")
	f.StringVar(&n.Key, "key", "", "idempotency key: a second job with it is not made, the first is shown")
	f.StringVar(&keyWindow, "key-window", "", "how long the key is remembered; default: 24h")
	f.StringVar(&n.ActiveKey, "active-key", "", "at most one job with this key that has not ended")
	f.StringSliceVar(&n.Tags, "tag", nil, "tags, for filters")
	f.BoolVar(&fn, "func", false, "TASK is the name of a handler in a Go program, for which no task exists")
	w.Add(f)
	return cmd
}

func jobRunAgain(c *cli.CLI) *cobra.Command {
	var r job.RunAgain
	var input string
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "run-again ID", Short: "Make a new job of a finished one, with the same input or another", Args: cobra.ExactArgs(1),
		Long: `Make a new job of a finished one, however it ended. It has the queue, priority,
attempts, timeout and tags of that one, and runs the task as it is now. To give
the same job its attempts again, use: belfry job retry.`,
		Example: `  belfry job run-again 1042
  belfry job run-again 1042 --input '{"customer": 7}' --note 'wrong customer' --wait`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			if err := cli.JSONText(cmd.Flags().Changed("input"), input, &r.Input); err != nil {
				return err
			}
			made, err := s.RunJobAgain(ctx, s.NS, id, r)
			if err != nil {
				return wait.Unanswered(err, r.Key, "belfry job list")
			}
			return wait.Made(ctx, c, s, made, w)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "JSON for the new job; default: the input of the finished one")
	f.StringVar(&r.Note, "note", "", "why; kept in the audit")
	f.StringVar(&r.Key, "key", "", "idempotency key: a second job with it is not made, the first is shown")
	w.Add(f)
	return cmd
}
