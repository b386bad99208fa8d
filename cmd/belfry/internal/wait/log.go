package wait

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Log writes pieces of a log as they arrive.
type Log struct {
	CLI     *cli.CLI
	Times   bool // prefix each line with time and stream
	attempt int  // attempt of the last piece
}

// Rest prints the pieces after a cursor, and returns the next cursor.
func (l *Log) Rest(ctx context.Context, s *cli.Conn, id int64, attempt int, cursor string) (string, error) {
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
		// A log has a cursor also at its end, for later pieces.
		if p.Next != "" {
			cursor = p.Next
		}
		if len(p.Items) == 0 || p.Next == "" {
			return cursor, nil
		}
	}
}

func (l *Log) print(line job.LogLine) error {
	if l.CLI.Output != "table" {
		return json.NewEncoder(l.CLI.Stdout).Encode(line)
	}
	if line.Attempt != l.attempt {
		if l.attempt != 0 {
			fmt.Fprintf(l.CLI.Stderr, "--- attempt %d\n", line.Attempt)
		}
		l.attempt = line.Attempt
	}
	if !l.Times {
		_, err := io.WriteString(l.CLI.Stdout, line.Text)
		return err
	}
	for part := range strings.Lines(line.Text) {
		_, err := fmt.Fprintf(l.CLI.Stdout, "%s %-6s %s\n", line.At.Local().Format("15:04:05.000"), line.Stream, strings.TrimSuffix(part, "\n"))
		if err != nil {
			return err
		}
	}
	return nil
}

// Follow prints a log until its job has ended.
func (l *Log) Follow(ctx context.Context, s *cli.Conn, id int64, attempt int) error {
	cursor := ""
	return UntilEnd(ctx, l.CLI, s, id, func() (err error) {
		cursor, err = l.Rest(ctx, s, id, attempt, cursor)
		return err
	})
}

// UntilEnd calls print repeatedly until a job has ended. The exit code is 1 if the
// job did not succeed.
func UntilEnd(ctx context.Context, c *cli.CLI, s *cli.Conn, id int64, print func() error) error {
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
		if Sleep(ctx, Pace) != nil {
			return nil
		}
	}
}

// Live shows the progress of a new job, and then its output. With -o json it
// shows the ended job, without a log.
func Live(ctx context.Context, c *cli.CLI, s *cli.Conn, j job.Job, timeout Time) error {
	if c.Output != "table" {
		return For(ctx, c, s, []job.Job{j}, timeout)
	}
	fmt.Fprintf(c.Stderr, "--- job %d\n", j.ID)
	patient, stop := Patience(ctx, c, s, timeout)
	defer stop()
	ended := (&Log{CLI: c}).Follow(patient, s, j.ID, 0)
	if patient.Err() != nil && ctx.Err() == nil {
		if now, err := s.Job(ctx, s.NS, j.ID); err == nil {
			j = now
		}
		return late(j)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(c.Stderr, "job %d goes on; to cancel it: belfry job cancel %d\n", j.ID, j.ID)
		return ctx.Err()
	}
	var status cli.ExitStatus
	if ended != nil && !errors.As(ended, &status) {
		return ended
	}
	j, err := s.Job(ctx, s.NS, j.ID)
	if err != nil {
		return errors.Join(ended, err)
	}
	if len(j.Output) > 0 && j.Kind != task.KindCommand { // whose output holds only the exit code
		fmt.Fprintf(c.Stdout, "%s\n", plainjson.Unescape(j.Output))
	}
	if j.Error != "" {
		fmt.Fprintf(c.Stderr, "  %s\n", cli.Clip(j.Error, 200))
	}
	return ended
}

// late returns the error for a job that did not end within --wait-timeout. It may end later.
func late(j job.Job) error {
	if j.State.Final() {
		return core.Errorf(core.Unavailable, "job %d had not ended in time, it is %s now", j.ID, j.State).WithHint("belfry job show %d", j.ID)
	}
	return core.Errorf(core.Unavailable, "job %d has not ended, it is %s", j.ID, j.State).WithHint("belfry job why %d", j.ID)
}
