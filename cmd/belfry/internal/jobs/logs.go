package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func jobLogs(c *cli.CLI) *cobra.Command {
	var follow, times bool
	var attempt int
	var q job.LogQuery
	cmd := &cobra.Command{
		Use: "logs ID", Aliases: []string{"log"}, Short: "Show what a job wrote", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			err = errors.Join(cli.NotNegative("--attempt", attempt, "0 shows all"), cli.NotNegative("--tail", q.Tail, "0 shows all lines"))
			if err != nil {
				return err
			}
			if q.Tail > 0 || q.Grep != "" {
				if times || follow && q.Grep != "" {
					return core.InvalidField("--tail", "", "goes without --timestamps, and --grep without --follow too", "leave one of them out")
				}
				q.Attempt, q.Limit = attempt, job.MaxLogText
				if follow {
					return followTail(ctx, c, s, id, q)
				}
				return logText(ctx, c, s, id, q)
			}
			l := &wait.Log{CLI: c, Times: times}
			if follow {
				return l.Follow(ctx, s, id, attempt)
			}
			_, err = l.Rest(ctx, s, id, attempt, "")
			return err
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job ends; exit 0 if it succeeded, 1 if not")
	cmd.Flags().BoolVarP(&times, "timestamps", "t", false, "put time and stream before each line")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only this attempt; default: all")
	cmd.Flags().IntVar(&q.Tail, "tail", 0, "only the last lines, as far as 1 MiB")
	cmd.Flags().StringVar(&q.Grep, "grep", "", "only lines that have this text")
	cmd.Flags().BoolVar(&q.Regexp, "regexp", false, "--grep is an expression of Go's regexp")
	return cmd
}

// logText prints the last lines of a log, or those that a search finds.
func logText(ctx context.Context, c *cli.CLI, s *cli.Conn, id int64, q job.LogQuery) error {
	if q.Grep != "" {
		q.Tail = 0
	}
	for {
		t, err := s.LogText(ctx, s.NS, id, q)
		if err != nil {
			return err
		}
		if err := c.Emit(t, func(w io.Writer) {
			fmt.Fprint(w, t.Text)
			for _, f := range t.Found {
				fmt.Fprintln(w, f.Line)
			}
		}); err != nil || q.Grep == "" || t.Next >= t.Size || t.Next <= q.Offset {
			return err
		}
		q.Offset = t.Next
	}
}

// followTail prints the last lines, and then new ones, until the job ends.
func followTail(ctx context.Context, c *cli.CLI, s *cli.Conn, id int64, q job.LogQuery) error {
	return wait.UntilEnd(ctx, c, s, id, func() error {
		for {
			t, err := s.LogText(ctx, s.NS, id, q)
			if err != nil {
				return err
			}
			if t.Text != "" {
				if err := c.Emit(t, func(w io.Writer) { fmt.Fprint(w, t.Text) }); err != nil {
					return err
				}
			}
			if q.Tail, q.Offset = 0, t.Next; t.Next >= t.Size {
				return nil
			}
		}
	})
}
