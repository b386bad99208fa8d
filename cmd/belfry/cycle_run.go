package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
)

func (c *cli) cycleRun() *cobra.Command {
	var w waitFlags
	cmd := &cobra.Command{
		Use: "run NAME", Aliases: []string{"trigger"}, Short: "Run a cycle now, beside its plan", Args: cobra.ExactArgs(1),
		Long: `Run a cycle now, beside its plan. Members that are not due are left out. A cycle
that is under way, or about to be, is not begun a second time.

With --wait each member is shown as it ends, and the exit code is 0 when all
went well or nothing was due, and 1 when not.`,
		Example: `  belfry cycle run nightly --wait
  belfry cycle reset-timing nightly report && belfry cycle run nightly`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			j, err := s.RunCycle(ctx, ns, args[0])
			if err != nil {
				return err
			}
			if w.wait {
				return c.waitForCycle(ctx, s, j, w.timeout)
			}
			return c.emit(job.Enqueued{Job: j}, func(out io.Writer) {
				fmt.Fprintf(out, "job %d created, %s\n", j.ID, j.State)
				fmt.Fprintf(c.stderr, "try: belfry cycle show %s\n", j.Task)
			})
		}),
	}
	w.add(cmd.Flags())
	return cmd
}

// waitForCycle shows each member as it ends, and then how the cycle ended.
func (c *cli) waitForCycle(ctx context.Context, s *conn, j job.Job, timeout waitTime) error {
	ctx, stop := c.patience(ctx, s, timeout)
	defer stop()
	shown := 0
	for {
		done, results, err := cycleSoFar(ctx, s, j)
		if err == nil {
			if c.output == "table" && len(results) > shown {
				c.drawEnded(results[shown:])
				shown = len(results)
			}
			if done.State.Final() {
				return c.cycleEnded(done)
			}
			err = sleep(ctx, followPace)
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return core.Errorf(core.Unavailable, "cycle %s has not ended", j.Task).WithHint("belfry cycle show %s", j.Task)
		}
		if err != nil {
			return err
		}
	}
}

// cycleSoFar is a cycle's job and what became of its members.
func cycleSoFar(ctx context.Context, s *conn, j job.Job) (now job.Job, results []cycle.MemberResult, err error) {
	if now, err = s.Job(ctx, j.Namespace, j.ID); err != nil {
		return now, nil, err
	}
	if now.State.Final() {
		return now, outputOf(now).Members, nil
	}
	v, err := s.CycleStatus(ctx, j.Namespace, j.Task)
	if err == nil && v.Run != nil && v.Run.JobID == j.ID {
		results = v.Run.Results
	}
	return now, results, err
}

func (c *cli) drawEnded(results []cycle.MemberResult) {
	paint := c.painter()
	for _, r := range results {
		line := r.Task + " " + paint(stateStyle(string(r.State)), string(r.State))
		if !r.StartedAt.IsZero() {
			line += " after " + span(r.EndedAt.Sub(r.StartedAt))
		}
		if r.Attempts > 1 {
			line += fmt.Sprintf(", %d tries", r.Attempts)
		}
		if r.JobID > 0 {
			line += fmt.Sprintf(" (job %d)", r.JobID)
		}
		if note := cmp.Or(r.Error, r.Reason); note != "" {
			line += ": " + clip(note, 200)
		}
		fmt.Fprintln(c.stdout, line)
	}
}

func (c *cli) cycleEnded(j job.Job) error {
	err := c.emit(j, func(w io.Writer) {
		paint := c.painter()
		fmt.Fprintf(w, "job %d %s", j.ID, paint(stateStyle(string(j.State)), string(j.State)))
		if len(j.Output) > 0 {
			o := outputOf(j)
			fmt.Fprintf(w, " after %s: %s", span(o.Took.D()), tally(o))
		}
		if j.Note != "" {
			fmt.Fprintf(w, " (%s)", j.Note)
		}
		fmt.Fprintln(w)
	})
	if err == nil && j.State != job.Succeeded && j.Reason != cycle.ReasonNothingDue {
		return exitStatus(exitFailed)
	}
	return err
}

func (c *cli) cycleSkip() *cobra.Command {
	return &cobra.Command{
		Use: "skip-member NAME MEMBER", Aliases: []string{"skip"}, Short: "Leave a member out of the run under way; if it runs, it is asked to end", Args: cobra.ExactArgs(2),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			run, err := s.SkipMember(ctx, ns, args[0], args[1])
			if err != nil {
				return err
			}
			return c.emit(run, func(w io.Writer) { fmt.Fprintf(w, "member %s is left out of job %d\n", args[1], run.JobID) })
		}),
	}
}

func (c *cli) cycleCancel() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "cancel NAME", Short: "End the run of a cycle that is under way, and the member that runs", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			done, err := s.CancelCycle(ctx, ns, args[0], note)
			if err != nil {
				return err
			}
			return c.emit(done, func(w io.Writer) {
				for _, id := range done.IDs {
					fmt.Fprintf(w, "job %d canceled\n", id)
				}
				for id, why := range done.Left {
					fmt.Fprintf(c.stderr, "job %d left as it is: %s\n", id, why)
				}
			})
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the job")
	return cmd
}

func (c *cli) cycleReset() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "reset-timing NAME [MEMBER...]", Aliases: []string{"reset"}, Short: "Forget when members last succeeded, so that they are due", Args: cobra.MinimumNArgs(1),
		Long: `Forget when members last succeeded, so that they are due when the cycle runs next.
It is forgotten for every cycle that has them.`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
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
			return c.emit(struct {
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
