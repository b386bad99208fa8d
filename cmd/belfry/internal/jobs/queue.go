package jobs

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Queue is the command queue.
func Queue(c *cli.CLI) *cobra.Command {
	return cli.Noun("queue", "Lanes of jobs: limits, pause, depth", []string{"queues"},
		queueCreate(c), queueList(c), queueShow(c), queueUpdate(c), queueDelete(c), queuePause(c), queueResume(c))
}

type queueFlags struct {
	description                        string
	concurrency, globalLimit, priority int
}

func (f *queueFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&f.concurrency, "concurrency", 0, "jobs at the same time on each worker; default: 10")
	fs.IntVar(&f.globalLimit, "global-limit", 0, "jobs at the same time on all workers together; 0: no limit")
	fs.IntVar(&f.priority, "priority", 0, "order in which a worker serves its queues; higher first")
	fs.StringVar(&f.description, "description", "", "for people")
}

func (f *queueFlags) apply(given func(string) bool, q *job.Queue) {
	cli.Set(given("concurrency"), f.concurrency, &q.Concurrency)
	cli.Set(given("global-limit"), f.globalLimit, &q.GlobalLimit)
	cli.Set(given("priority"), f.priority, &q.Priority)
	cli.Set(given("description"), f.description, &q.Description)
}

func queueCreate(c *cli.CLI) *cobra.Command {
	var f queueFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a queue", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			switch _, err := s.Queue(ctx, args[0]); core.CodeOf(err) {
			case core.NotFound:
			case "":
				return core.Errorf(core.Conflict, "queue %q exists", args[0]).WithHint("belfry queue update %s", args[0])
			default:
				return err
			}
			q := job.Queue{Name: args[0]}
			f.apply(cmd.Flags().Changed, &q)
			return saveQueue(ctx, c, s, q, "created")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func saveQueue(ctx context.Context, c *cli.CLI, s *cli.Conn, q job.Queue, done string) error {
	q, err := s.SaveQueue(ctx, q)
	if err != nil {
		return err
	}
	return c.Emit(q, func(w io.Writer) { fmt.Fprintf(w, "queue %s %s\n", q.Name, done) })
}

func queueUpdate(c *cli.CLI) *cobra.Command {
	var f queueFlags
	cmd := &cobra.Command{
		Use: "update NAME", Aliases: []string{"edit", "set"}, Short: "Change a queue; what no flag names stays as it is", Args: cobra.ExactArgs(1),
		Long: `Change a queue. What no flag names stays as it is. Workers that leave the number
to the queue follow a new concurrency at their next renewal.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			q, err := s.Queue(ctx, args[0])
			if err != nil {
				return err
			}
			f.apply(cmd.Flags().Changed, &q.Queue)
			return saveQueue(ctx, c, s, q.Queue, "updated")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func queueList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List queues and what is in them", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			qs, err := s.Queues(ctx)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[job.QueueStats]{Items: qs}, func(w io.Writer) {
				g := c.Grid("NAME", "STATE", "READY", "RUNNING", "LATER", "OLDEST", "PRIORITY", "PER WORKER", "IN ALL")
				for _, q := range qs {
					all := ""
					if q.GlobalLimit > 0 {
						all = strconv.Itoa(q.GlobalLimit)
					}
					g.Row(q.Name, g.State(queueState(q.Queue)), cli.Count(q.Ready), cli.Count(q.Running), cli.Count(q.Scheduled),
						cli.Ago(q.OldestAt, s.Now), strconv.Itoa(q.Priority), strconv.Itoa(q.Concurrency), all)
				}
				g.Write(w)
			})
		}),
	}
}

func queueState(q job.Queue) string {
	if q.PausedAt.IsZero() {
		return "active"
	}
	return "paused"
}

func queueShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a queue", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			q, err := s.Queue(ctx, args[0])
			if err != nil {
				return err
			}
			return c.Emit(q, func(w io.Writer) {
				paused, all := "", "no limit"
				if !q.PausedAt.IsZero() {
					paused = fmt.Sprintf("%s by %s: %s", cli.When(q.PausedAt, s.Now), q.PausedBy, q.PausedReason)
				}
				if q.GlobalLimit > 0 {
					all = strconv.Itoa(q.GlobalLimit)
				}
				c.Pairs(w, "name", q.Name, "description", q.Description, "state", queueState(q.Queue), "paused", paused,
					"ready", cli.Count(q.Ready), "running", cli.Count(q.Running), "later", cli.Count(q.Scheduled), "oldest", cli.When(q.OldestAt, s.Now),
					"priority", strconv.Itoa(q.Priority), "per worker", strconv.Itoa(q.Concurrency), "in all", all,
					"created", cli.Stamp(q.CreatedAt), "updated", cli.Stamp(q.UpdatedAt))
			})
		}),
	}
}

func queueDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete queues that nothing uses", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return eachQueue(c, args, "deleted", func(name string) error { return s.DeleteQueue(ctx, name) })
		}),
	}
}

func eachQueue(c *cli.CLI, names []string, done string, fn func(name string) error) error {
	for _, name := range names {
		if err := fn(name); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%s %s\n", name, done)
	}
	return nil
}

func queuePause(c *cli.CLI) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause NAME...", Short: "Start no more jobs of queues; those that run go on", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return eachQueue(c, args, "paused", func(name string) error {
				_, err := s.PauseQueue(ctx, name, reason)
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown beside the state")
	return cmd
}

func queueResume(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME...", Short: "Start jobs of paused queues again", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return eachQueue(c, args, "resumed", func(name string) error {
				_, err := s.ResumeQueue(ctx, name)
				return err
			})
		}),
	}
}
