package workflows

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

func workflowRun(c *cli.CLI) *cobra.Command {
	var input, key string
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Begin a run of a workflow now", Args: cobra.ExactArgs(1),
		Long: `Begin a run of a workflow now. With --wait each step is shown as it ends, and the
exit code is 0 when the run succeeded, and 1 when not.`,
		Example: `  belfry workflow run order --input '{"id": 7}' --wait`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			n := job.NewJob{Namespace: ns, Task: args[0], Key: key}
			if err := cli.JSONText(input != "", input, &n.Input); err != nil {
				return err
			}
			t, err := s.Task(ctx, ns, args[0])
			if err != nil {
				return err
			}
			if t.Workflow == nil {
				return core.Errorf(core.Conflict, "task %q is no workflow", t.Name).WithHint("belfry job enqueue %s", t.Name)
			}
			made, err := s.Enqueue(ctx, []job.NewJob{n})
			if err != nil {
				return wait.Unanswered(err, key, "belfry job list --task "+n.Task)
			}
			if w.Wait {
				return waitForRun(ctx, c, s, made[0].Job, w.Timeout)
			}
			return c.Emit(made[0], func(out io.Writer) {
				if made[0].Existing {
					fmt.Fprintf(out, "run %d was there already, %s\n", made[0].Job.ID, made[0].Stands())
					return
				}
				fmt.Fprintf(out, "run %d created, %s\n", made[0].Job.ID, made[0].Job.State)
				fmt.Fprintf(c.Stderr, "try: belfry workflow show %d\n", made[0].Job.ID)
			})
		}),
	}
	cmd.Flags().StringVar(&input, "input", "", "input of the run as JSON; default: the task's own")
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: a second run with it is not made")
	w.Add(cmd.Flags())
	return cmd
}

// waitForRun shows each step at its end, the signals that the run waits for, and then the result.
func waitForRun(ctx context.Context, c *cli.CLI, s *cli.Conn, j job.Job, timeout wait.Time) error {
	late := core.Errorf(core.Unavailable, "run %d has not ended", j.ID).WithHint("belfry workflow show %d", j.ID)
	shown := map[string]workflow.State{}
	return wait.Follow(ctx, c, s, timeout, late, func(ctx context.Context) (last bool, err error) {
		// The job is read first: if it has ended, all steps that are read later have ended too.
		now, err := s.Job(ctx, j.Namespace, j.ID)
		if err != nil {
			return false, err
		}
		v, err := s.WorkflowRun(ctx, j.Namespace, j.ID)
		if err != nil && core.CodeOf(err) != core.NotFound { // the run has not begun
			return false, err
		}
		showSteps(c, v, shown)
		if !now.State.Final() {
			return false, nil
		}
		return true, runEnded(c, now, v.Run)
	})
}

func runEnded(c *cli.CLI, j job.Job, r workflow.Run) error {
	err := c.Emit(j, func(w io.Writer) {
		fmt.Fprintf(w, "run %d %s", j.ID, c.Painter()(cli.StateStyle(string(j.State)), string(j.State)))
		if !r.StartedAt.IsZero() && !r.EndedAt.IsZero() {
			fmt.Fprintf(w, " after %s", core.SpanText(r.EndedAt.Sub(r.StartedAt)))
		}
		if note := cmp.Or(j.Error, j.Note); note != "" {
			fmt.Fprintf(w, ": %s", cli.Clip(note, 200))
		}
		fmt.Fprintln(w)
	})
	if err == nil && j.State != job.Succeeded {
		err = cli.ExitStatus(cli.ExitFailed)
	}
	return err
}

// showSteps shows the steps that ended, or began to wait for a signal, since the last call.
func showSteps(c *cli.CLI, v workflow.Status, shown map[string]workflow.State) {
	paint := c.Painter()
	for i, s := range v.Run.Steps {
		if shown[s.Name] == s.State || !s.State.Final() && s.State != workflow.Waiting {
			continue
		}
		shown[s.Name] = s.State
		step := v.Plan.Workflow.Steps[i]
		switch {
		case s.State == workflow.Waiting && step.Approval != "":
			fmt.Fprintf(c.Stderr, "%s waits for an approval: %s\n", s.Name, answer(v.Run.JobID, step))
		case s.State == workflow.Waiting:
			fmt.Fprintf(c.Stderr, "%s waits for a signal: %s\n", s.Name, answer(v.Run.JobID, step))
		case c.Output == "table":
			line := s.Name + " " + paint(cli.StateStyle(string(s.State)), string(s.State))
			if !s.Since.IsZero() && !s.EndedAt.IsZero() {
				line += " after " + core.SpanText(s.EndedAt.Sub(s.Since))
			}
			if note := cmp.Or(s.Error, s.Reason); note != "" {
				line += ": " + cli.Clip(note, 200)
			}
			fmt.Fprintln(c.Stdout, line)
		}
	}
}

// answer returns the command that answers a waiting step.
func answer(run int64, step task.Step) string {
	if step.Approval != "" {
		return fmt.Sprintf("belfry workflow approve %d %s", run, step.Name)
	}
	return fmt.Sprintf("belfry workflow signal %d %s", run, step.SignalName())
}
