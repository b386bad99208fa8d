package jobs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
)

func jobSteps(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "steps ID", Short: "List the recorded steps of a job", Args: cobra.ExactArgs(1),
		Long: `List the steps that the attempts of a job have recorded, in order. Later attempts
take the results of these steps from the record and do not run them again.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			all, err := s.JobSteps(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(all, func(w io.Writer) {
				if len(all) == 0 {
					fmt.Fprintln(w, "no steps")
					return
				}
				drawSteps(c, w, all, s.Now)
			})
		}),
	}
}

func drawSteps(c *cli.CLI, w io.Writer, all []job.Step, now time.Time) {
	g := c.Grid("STEP", "NAME", "TRY", "SAVED", "DURATION", "RESULT")
	for _, s := range all {
		took, result := core.SpanText(s.Took.D()), string(plainjson.Unescape(s.Result))
		switch s.Kind {
		case job.StepSleep:
			took, result = "", "sleeps until "+cli.Stamp(s.WakeAt)
			if !s.WakeAt.After(now) {
				result = "slept until " + cli.Stamp(s.WakeAt)
			}
		case job.StepSignal:
			took = ""
			switch {
			case s.TimedOut:
				result = "no signal until " + cli.Stamp(s.WakeAt)
			case s.EndedAt.IsZero():
				result = "waits for its signal until " + cli.Stamp(s.WakeAt)
			}
		case job.StepSpawn:
			took, result = "", fmt.Sprintf("enqueued job %d", s.Child)
		case job.StepAwait:
			took = ""
			if s.EndedAt.IsZero() {
				result = fmt.Sprintf("waits for job %d", s.Child)
			}
		case job.StepVersion:
			took, result = "", "version "+result
		}
		g.Row(strconv.Itoa(s.Number), s.Name, strconv.Itoa(s.Attempt), cli.Stamp(s.SavedAt), took, cli.Clip(result, 80))
	}
	g.Write(w)
}

func jobResetSteps(c *cli.CLI) *cobra.Command {
	var r job.StepReset
	cmd := &cobra.Command{
		Use: "reset-steps ID", Short: "Forget recorded steps of a job, so that they run again", Args: cobra.ExactArgs(1),
		Long: `Forget the steps of a job from one on, or all. The next attempt runs them again;
a failed job gets one with: belfry job retry. A job that is running is refused.`,
		Example: `  belfry job reset-steps 1042 --from 'ship'
  belfry job retry 1042`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			n, err := s.ResetSteps(ctx, s.NS, id, r)
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"steps": n}, func(w io.Writer) { fmt.Fprintf(w, "forgotten: %d\n", n) })
		}),
	}
	cmd.Flags().StringVar(&r.From, "from", "", "name of the first step to forget; default: all")
	cmd.Flags().StringVar(&r.Note, "note", "", "why; kept in the audit")
	return cmd
}

// progressText returns the progress that a job reports, and its estimated end.
func progressText(j job.Job, now time.Time) string {
	g := j.Progress
	if g == nil {
		return ""
	}
	text := strconv.FormatFloat(g.Percent, 'f', -1, 64) + " %"
	if g.Message != "" {
		text += ", " + g.Message
	}
	for _, name := range slices.Sorted(maps.Keys(g.Counters)) {
		text += fmt.Sprintf(", %s %d", name, g.Counters[name])
	}
	if !g.EndAt.IsZero() {
		text += ", ends " + cli.When(g.EndAt, now) + " if it goes on so"
	}
	return text
}
