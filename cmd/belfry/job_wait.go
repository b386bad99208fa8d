package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// waitFlags are shared by what makes jobs.
type waitFlags struct {
	wait    bool
	timeout waitTime
}

// waitTime is the value of --wait-timeout, which is refused before anything is
// done; 0: no end.
type waitTime time.Duration

func (t *waitTime) String() string { return "" }
func (t *waitTime) Type() string   { return "string" }

// Set is asked for by pflag.
func (t *waitTime) Set(text string) error {
	d, err := core.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("it is no time to wait, such as 30s")
	}
	*t = waitTime(d)
	return err
}

func (w *waitFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&w.wait, "wait", false, "wait for the job to end; exit 0 if it succeeded, 1 if not")
	fs.Var(&w.timeout, "wait-timeout", "give up waiting after this long; the job goes on")
}

// jobMade shows a job that was just made, and waits for it if asked to.
func (c *cli) jobMade(ctx context.Context, s *conn, e job.Enqueued, w waitFlags) error {
	if !w.wait {
		return c.emit(e, func(out io.Writer) {
			if e.Existing {
				fmt.Fprintf(out, "job %d was there already, %s\n", e.Job.ID, e.Job.State)
				return
			}
			fmt.Fprintf(out, "job %d created, %s\n", e.Job.ID, e.Job.State)
			fmt.Fprintf(c.stderr, "try: belfry job logs -f %d\n", e.Job.ID)
		})
	}
	return c.waitFor(ctx, s, []job.Job{e.Job}, w.timeout)
}

// patience ends ctx when --wait-timeout says so, and warns where waiting is in
// vain.
func (c *cli) patience(ctx context.Context, s *conn, timeout waitTime) (context.Context, context.CancelFunc) {
	c.noteIdle(s)
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(timeout))
}

// noteIdle says that a job will wait, where nobody is there who could run it.
func (c *cli) noteIdle(s *conn) {
	if s.direct {
		fmt.Fprintln(c.stderr, "note: no server runs, so nobody runs jobs until one does")
	}
}

// waitFor waits for jobs and shows each as it ends. The exit code is 1 when
// one of them did not succeed.
func (c *cli) waitFor(ctx context.Context, s *conn, jobs []job.Job, timeout waitTime) error {
	ctx, stop := c.patience(ctx, s, timeout)
	defer stop()
	failed := false
	for _, j := range jobs {
		done, err := app.WaitJob(ctx, s, j.Namespace, j.ID)
		if errors.Is(err, context.DeadlineExceeded) {
			return core.Errorf(core.Unavailable, "job %d has not ended, it is %s", j.ID, done.State).WithHint("belfry job why %d", j.ID)
		}
		if err != nil {
			return err
		}
		failed = failed || done.State != job.Succeeded
		if err := c.emit(done, func(w io.Writer) { c.drawEnd(w, done) }); err != nil {
			return err
		}
	}
	if failed {
		return exitStatus(exitFailed)
	}
	return nil
}

func (c *cli) drawEnd(w io.Writer, j job.Job) {
	paint := c.painter()
	fmt.Fprintf(w, "job %d %s", j.ID, paint(stateStyle(string(j.State)), string(j.State)))
	if !j.ClaimedAt.IsZero() && !j.FinishedAt.IsZero() {
		fmt.Fprintf(w, " after %s", span(j.FinishedAt.Sub(j.ClaimedAt)))
	}
	if j.Reason != "" {
		fmt.Fprintf(w, " (%s)", j.Reason)
	}
	fmt.Fprintln(w)
	if j.Error != "" {
		fmt.Fprintf(w, "  %s\n", clip(j.Error, 200))
	}
}

func (c *cli) jobWait() *cobra.Command {
	var w waitFlags
	cmd := &cobra.Command{
		Use: "wait ID...", Short: "Wait for jobs to end", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ids, err := jobIDs(args)
			if err != nil {
				return err
			}
			var jobs []job.Job
			for _, id := range ids {
				j, err := s.Job(ctx, s.namespace, id)
				if err != nil {
					return err
				}
				jobs = append(jobs, j)
			}
			return c.waitFor(ctx, s, jobs, w.timeout)
		}),
	}
	cmd.Flags().Var(&w.timeout, "wait-timeout", "give up waiting after this long; the jobs go on")
	return cmd
}

// sleep ends early with the context, and answers why.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
