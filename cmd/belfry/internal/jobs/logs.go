package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

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
			l := &logPrinter{c: c, times: times}
			if follow {
				return l.follow(ctx, s, id, attempt)
			}
			_, err = l.rest(ctx, s, id, attempt, "")
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

// followTail prints the last lines, and then what comes, until the job ends.
func followTail(ctx context.Context, c *cli.CLI, s *cli.Conn, id int64, q job.LogQuery) error {
	return untilEnd(ctx, c, s, id, func() error {
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

// logPrinter writes pieces of a log as they come.
type logPrinter struct {
	c       *cli.CLI
	times   bool
	attempt int // whose piece came last
}

// rest prints what there is after a cursor and answers the cursor after it.
func (l *logPrinter) rest(ctx context.Context, s *cli.Conn, id int64, attempt int, cursor string) (string, error) {
	for {
		p, err := s.Logs(ctx, s.NS, id, job.LogFilter{Paging: core.Paging{Limit: 500, Cursor: cursor}, Attempt: attempt})
		if err != nil {
			return cursor, err
		}
		for _, line := range p.Items {
			if err := l.print(line); err != nil {
				return cursor, err
			}
		}
		// A log has a cursor even at its end, for what comes after it.
		if p.Next != "" {
			cursor = p.Next
		}
		if len(p.Items) == 0 || p.Next == "" {
			return cursor, nil
		}
	}
}

func (l *logPrinter) print(line job.LogLine) error {
	if l.c.Output != "table" {
		return json.NewEncoder(l.c.Stdout).Encode(line)
	}
	if line.Attempt != l.attempt {
		if l.attempt != 0 {
			fmt.Fprintf(l.c.Stderr, "--- attempt %d\n", line.Attempt)
		}
		l.attempt = line.Attempt
	}
	if !l.times {
		_, err := io.WriteString(l.c.Stdout, line.Text)
		return err
	}
	for part := range strings.Lines(line.Text) {
		_, err := fmt.Fprintf(l.c.Stdout, "%s %-6s %s\n", line.At.Local().Format("15:04:05.000"), line.Stream, strings.TrimSuffix(part, "\n"))
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *logPrinter) follow(ctx context.Context, s *cli.Conn, id int64, attempt int) error {
	cursor := ""
	return untilEnd(ctx, l.c, s, id, func() (err error) {
		cursor, err = l.rest(ctx, s, id, attempt, cursor)
		return err
	})
}

// untilEnd prints what there is again and again, until a job has ended. The exit
// code is 1 when it did not succeed.
func untilEnd(ctx context.Context, c *cli.CLI, s *cli.Conn, id int64, print func() error) error {
	for {
		j, err := s.Job(ctx, s.NS, id)
		if err != nil {
			return err
		}
		if err := print(); err != nil {
			return err
		}
		if j.State.Final() {
			fmt.Fprintf(c.Stderr, "--- job %d %s\n", id, j.State)
			if j.State != job.Succeeded {
				return cli.ExitStatus(cli.ExitFailed)
			}
			return nil
		}
		if wait.Sleep(ctx, wait.Pace) != nil {
			return nil
		}
	}
}
