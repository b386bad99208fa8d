package jobs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
)

// Queue is the command queue.
func Queue(c *cli.CLI) *cobra.Command {
	return cli.Noun("queue", "Manage queues: limits, pause, depth", []string{"queues"},
		queueCreate(c), queueList(c), queueShow(c), queueHistory(c), queueUpdate(c), queueDelete(c), queueLimits(c), queuePause(c), queueResume(c))
}

type queueFlags struct {
	title, description, fair           string
	weights, limits                    []string
	onFull, ageing                     string
	concurrency, globalLimit, priority int
	maxWaiting                         int
}

func (f *queueFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&f.concurrency, "concurrency", 0, "jobs at the same time on each worker; default: 10")
	fs.IntVar(&f.globalLimit, "global-limit", 0, "jobs at the same time on all workers together; 0: no limit")
	fs.IntVar(&f.priority, "priority", 0, "order in which a worker serves its queues; higher first")
	fs.IntVar(&f.maxWaiting, "max-waiting", 0, "most jobs that have not ended and do not run; 0: no bound")
	fs.StringVar(&f.onFull, "on-full", "", "what becomes of new jobs when as many wait: refuse, or drop_oldest of the lowest priority; default: refuse")
	fs.StringVar(&f.ageing, "ageing", "", "treat a job as one priority higher for each such time that it has waited, such as 10m, up to the highest that waits; 0: jobs do not age")
	define.LimitFlag(fs, &f.limits)
	fs.StringVar(&f.fair, "fair", "", "take jobs in turn by a key, such as input.customer, namespace or task; empty: the oldest goes first")
	fs.StringArrayVar(&f.weights, "fair-weight", nil, "turns of a value of the key for each turn of others, such as acme=3; repeat; empty: none")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
}

func (f *queueFlags) apply(given func(string) bool, q *job.Queue) error {
	cli.Set(given("concurrency"), f.concurrency, &q.Concurrency)
	cli.Set(given("global-limit"), f.globalLimit, &q.GlobalLimit)
	cli.Set(given("priority"), f.priority, &q.Priority)
	cli.Set(given("title"), f.title, &q.Title)
	cli.Set(given("description"), f.description, &q.Description)
	if cli.Set(given("max-waiting"), f.maxWaiting, &q.MaxWaiting); given("max-waiting") && f.maxWaiting == 0 {
		q.OnFull = ""
	}
	if given("on-full") {
		q.OnFull = job.OnFull(f.onFull)
	}
	if err := cli.Duration(given, "ageing", f.ageing, &q.Ageing); err != nil {
		return err
	}
	if given("limit") {
		limits, err := define.ReadLimits(f.limits)
		if err != nil {
			return err
		}
		q.Limits = limits
	}
	fair := flow.Fair{}
	if q.Fair != nil {
		fair = *q.Fair
	}
	cli.Set(given("fair"), f.fair, &fair.Key)
	if given("fair-weight") {
		weights, err := flow.ParseWeights(slices.DeleteFunc(f.weights, func(w string) bool { return w == "" }))
		if err != nil {
			return err
		}
		fair.Weights = weights
	}
	switch {
	case given("fair") && f.fair == "":
		q.Fair = nil
		if given("fair-weight") {
			return core.InvalidField("fair", "", "is empty, so there is nothing to weigh", "give a key, or no --fair-weight")
		}
	case given("fair") || given("fair-weight"):
		q.Fair = &fair
	}
	return nil
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
			if err := f.apply(cmd.Flags().Changed, &q); err != nil {
				return err
			}
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
			if err := f.apply(cmd.Flags().Changed, &q.Queue); err != nil {
				return err
			}
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
				g := c.Grid("NAME", "?TITLE", "STATE", "READY", "RUNNING", "LATER", "OLDEST", "PRIORITY", "PER WORKER", "IN ALL")
				for _, q := range qs {
					all := ""
					if q.GlobalLimit > 0 {
						all = strconv.Itoa(q.GlobalLimit)
					}
					g.Row(q.Name, cli.Clip(q.Title, 40), g.State(queueState(q.Queue)), cli.Count(q.Ready), cli.Count(q.Running), cli.Count(q.Scheduled),
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
				paused, all, fair, weights := "", "no limit", "", ""
				if q.Fair != nil {
					fair, weights = q.Fair.Key, strings.Join(q.Fair.WeightTexts(), ", ")
				}
				if !q.PausedAt.IsZero() {
					paused = fmt.Sprintf("%s by %s: %s", cli.When(q.PausedAt, s.Now), q.PausedBy, q.PausedReason)
				}
				if q.GlobalLimit > 0 {
					all = strconv.Itoa(q.GlobalLimit)
				}
				c.Pairs(w, "name", q.Name, "title", q.Title, "description", q.Description, "state", queueState(q.Queue), "paused", paused,
					"ready", cli.Count(q.Ready), "running", cli.Count(q.Running), "later", cli.Count(q.Scheduled), "oldest", cli.When(q.OldestAt, s.Now),
					"priority", strconv.Itoa(q.Priority), "per worker", strconv.Itoa(q.Concurrency), "in all", all, "most waiting", core.Or(q.BoundText(), "no bound"), "ageing", q.AgeingText(), "limits", strings.Join(define.LimitTexts(q.Limits), "\n"), "fair by", fair, "weights", weights,
					"created", cli.Stamp(q.CreatedAt), "updated", cli.Stamp(q.UpdatedAt))
			})
		}),
	}
}

func queueLimits(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "limits NAME", Short: "Show how the limits of a queue are used now, and by which keys most", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			all, err := s.QueueLimitUse(ctx, args[0])
			if err != nil {
				return err
			}
			return define.EmitLimitUse(c, all, "the queue has no limits; try: belfry queue update "+args[0]+" --limit running=5")
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
				q, err := s.PauseQueue(ctx, name, reason)
				if err == nil {
					c.NotePause(name, q.PausedBy, q.PausedReason, reason)
				}
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
