package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func (c *cli) queueCmd() *cobra.Command {
	return noun("queue", "Lanes of jobs: limits, pause, depth", []string{"queues"},
		c.queueCreate(), c.queueList(), c.queueShow(), c.queueUpdate(), c.queueDelete(), c.queuePause(), c.queueResume())
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
	set(given("concurrency"), f.concurrency, &q.Concurrency)
	set(given("global-limit"), f.globalLimit, &q.GlobalLimit)
	set(given("priority"), f.priority, &q.Priority)
	set(given("description"), f.description, &q.Description)
}

func (c *cli) queueCreate() *cobra.Command {
	var f queueFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a queue", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			switch _, err := s.Queue(ctx, args[0]); core.CodeOf(err) {
			case core.NotFound:
			case "":
				return core.Errorf(core.Conflict, "queue %q exists", args[0]).WithHint("belfry queue update %s", args[0])
			default:
				return err
			}
			q := job.Queue{Name: args[0]}
			f.apply(cmd.Flags().Changed, &q)
			return c.saveQueue(ctx, s, q, "created")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func (c *cli) saveQueue(ctx context.Context, s *conn, q job.Queue, done string) error {
	q, err := s.SaveQueue(ctx, q)
	if err != nil {
		return err
	}
	return c.emit(q, func(w io.Writer) { fmt.Fprintf(w, "queue %s %s\n", q.Name, done) })
}

func (c *cli) queueUpdate() *cobra.Command {
	var f queueFlags
	cmd := &cobra.Command{
		Use: "update NAME", Aliases: []string{"edit", "set"}, Short: "Change a queue; what no flag names stays as it is", Args: cobra.ExactArgs(1),
		Long: `Change a queue. What no flag names stays as it is. Workers that leave the number
to the queue follow a new concurrency at their next renewal.`,
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			q, err := s.Queue(ctx, args[0])
			if err != nil {
				return err
			}
			f.apply(cmd.Flags().Changed, &q.Queue)
			return c.saveQueue(ctx, s, q.Queue, "updated")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func (c *cli) queueList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List queues and what is in them", Args: cobra.NoArgs,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			qs, err := s.Queues(ctx)
			if err != nil {
				return err
			}
			return c.emit(core.Page[job.QueueStats]{Items: qs}, func(w io.Writer) {
				g := c.grid("NAME", "STATE", "READY", "RUNNING", "LATER", "OLDEST", "PRIORITY", "PER WORKER", "IN ALL")
				for _, q := range qs {
					all := ""
					if q.GlobalLimit > 0 {
						all = strconv.Itoa(q.GlobalLimit)
					}
					g.row(q.Name, g.state(queueState(q.Queue)), count(q.Ready), count(q.Running), count(q.Scheduled),
						ago(q.OldestAt, s.now), strconv.Itoa(q.Priority), strconv.Itoa(q.Concurrency), all)
				}
				g.write(w)
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

func (c *cli) queueShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a queue", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			q, err := s.Queue(ctx, args[0])
			if err != nil {
				return err
			}
			return c.emit(q, func(w io.Writer) {
				paused, all := "", "no limit"
				if !q.PausedAt.IsZero() {
					paused = fmt.Sprintf("%s by %s: %s", when(q.PausedAt, s.now), q.PausedBy, q.PausedReason)
				}
				if q.GlobalLimit > 0 {
					all = strconv.Itoa(q.GlobalLimit)
				}
				c.pairs(w, "name", q.Name, "description", q.Description, "state", queueState(q.Queue), "paused", paused,
					"ready", count(q.Ready), "running", count(q.Running), "later", count(q.Scheduled), "oldest", when(q.OldestAt, s.now),
					"priority", strconv.Itoa(q.Priority), "per worker", strconv.Itoa(q.Concurrency), "in all", all,
					"created", stamp(q.CreatedAt), "updated", stamp(q.UpdatedAt))
			})
		}),
	}
}

func (c *cli) queueDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete queues that nothing uses", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return c.eachQueue(args, "deleted", func(name string) error { return s.DeleteQueue(ctx, name) })
		}),
	}
}

func (c *cli) eachQueue(names []string, done string, fn func(name string) error) error {
	for _, name := range names {
		if err := fn(name); err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "%s %s\n", name, done)
	}
	return nil
}

func (c *cli) queuePause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause NAME...", Short: "Start no more jobs of queues; those that run go on", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return c.eachQueue(args, "paused", func(name string) error {
				_, err := s.PauseQueue(ctx, name, reason)
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown beside the state")
	return cmd
}

func (c *cli) queueResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME...", Short: "Start jobs of paused queues again", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return c.eachQueue(args, "resumed", func(name string) error {
				_, err := s.ResumeQueue(ctx, name)
				return err
			})
		}),
	}
}
