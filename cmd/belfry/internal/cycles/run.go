package cycles

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
)

func cycleRun(c *cli.CLI) *cobra.Command {
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "run NAME", Aliases: []string{"trigger"}, Short: "Run a cycle now, beside its plan", Args: cobra.ExactArgs(1),
		Long: `Run a cycle now, beside its plan. Members that are not due are left out. A cycle
that is under way, or about to be, is not begun a second time.

With --wait each member is shown as it ends, and the exit code is 0 when all
went well or nothing was due, and 1 when not.`,
		Example: `  belfry cycle run nightly --wait
  belfry cycle reset-timing nightly report && belfry cycle run nightly`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			j, err := s.RunCycle(ctx, ns, args[0])
			if err != nil {
				return err
			}
			if w.Wait {
				return waitForCycle(ctx, c, s, j, w.Timeout)
			}
			return c.Emit(job.Enqueued{Job: j}, func(out io.Writer) {
				fmt.Fprintf(out, "job %d created, %s\n", j.ID, j.State)
				fmt.Fprintf(c.Stderr, "try: belfry cycle show %s\n", j.Task)
			})
		}),
	}
	w.Add(cmd.Flags())
	return cmd
}

// waitForCycle shows each member at its end, and then the result of the cycle.
func waitForCycle(ctx context.Context, c *cli.CLI, s *cli.Conn, j job.Job, timeout wait.Time) error {
	late := core.Errorf(core.Unavailable, "cycle %s has not ended", j.Task).WithHint("belfry cycle show %s", j.Task)
	shown := 0
	return wait.Follow(ctx, c, s, timeout, late, func(ctx context.Context) (last bool, err error) {
		done, results, err := cycleSoFar(ctx, s, j)
		if err != nil {
			return false, err
		}
		if c.Output == "table" && len(results) > shown {
			drawEnded(c, results[shown:])
			shown = len(results)
		}
		if !done.State.Final() {
			return false, nil
		}
		return true, cycleEnded(c, done)
	})
}

// cycleSoFar returns a cycle's job and the results of its members so far.
func cycleSoFar(ctx context.Context, s *cli.Conn, j job.Job) (now job.Job, results []cycle.MemberResult, err error) {
	if now, err = s.Job(ctx, j.Namespace, j.ID); err != nil {
		return now, nil, err
	}
	if now.State.Final() {
		return now, wait.CycleOutput(now).Members, nil
	}
	v, err := s.CycleStatus(ctx, j.Namespace, j.Task)
	if err == nil && v.Run != nil && v.Run.JobID == j.ID {
		results = v.Run.Results
	}
	return now, results, err
}

func drawEnded(c *cli.CLI, results []cycle.MemberResult) {
	paint := c.Painter()
	for _, r := range results {
		line := r.Task + " " + paint(cli.StateStyle(string(r.State)), string(r.State))
		if !r.StartedAt.IsZero() {
			line += " after " + core.SpanText(r.EndedAt.Sub(r.StartedAt))
		}
		if r.Attempts > 1 {
			line += fmt.Sprintf(", %d tries", r.Attempts)
		}
		if r.JobID > 0 {
			line += fmt.Sprintf(" (job %d)", r.JobID)
		}
		if note := cmp.Or(r.Error, r.Reason); note != "" {
			line += ": " + cli.Clip(note, 200)
		}
		fmt.Fprintln(c.Stdout, line)
	}
}

func cycleEnded(c *cli.CLI, j job.Job) error {
	err := c.Emit(j, func(w io.Writer) {
		paint := c.Painter()
		fmt.Fprintf(w, "job %d %s", j.ID, paint(cli.StateStyle(string(j.State)), string(j.State)))
		if len(j.Output) > 0 {
			o := wait.CycleOutput(j)
			fmt.Fprintf(w, " after %s: %s", core.SpanText(o.Took.D()), wait.Tally(o))
		}
		if j.Note != "" {
			fmt.Fprintf(w, " (%s)", j.Note)
		}
		fmt.Fprintln(w)
	})
	if err == nil && j.State != job.Succeeded && j.Reason != cycle.ReasonNothingDue {
		return cli.ExitStatus(cli.ExitFailed)
	}
	return err
}

func cycleSkip(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "skip-member NAME MEMBER", Aliases: []string{"skip"}, Short: "Leave a member out of the run under way; if it runs, it is asked to end", Args: cobra.ExactArgs(2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			run, err := s.SkipMember(ctx, ns, args[0], args[1])
			if err != nil {
				return err
			}
			return c.Emit(run, func(w io.Writer) { fmt.Fprintf(w, "member %s is left out of job %d\n", args[1], run.JobID) })
		}),
	}
}

func cycleCancel(c *cli.CLI) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "cancel NAME", Short: "End the run of a cycle that is under way, and the member that runs", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			done, err := s.CancelCycle(ctx, ns, args[0], note)
			if err != nil {
				return err
			}
			return c.Selected(done, "job", "canceled", true)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the job")
	return cmd
}

func cycleReset(c *cli.CLI) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "reset-timing NAME [MEMBER...]", Aliases: []string{"reset"}, Short: "Forget when members last succeeded, so that they are due", Args: cobra.MinimumNArgs(1),
		Long: `Forget when members last succeeded, so that they are due when the cycle runs next.
It is forgotten for every cycle that has them.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			if all == (len(args) > 1) {
				return core.InvalidField("MEMBER", "", "is missing", "name members, or --all for all of the cycle")
			}
			reset, err := s.ResetTiming(ctx, ns, args[0], args[1:]...)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				Members []string `json:"members"`
			}{reset}, func(w io.Writer) {
				for _, m := range reset {
					fmt.Fprintf(w, "member %s is due\n", m)
				}
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all members of the cycle")
	return cmd
}
