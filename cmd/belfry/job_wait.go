package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/app"
)

// waitFlags are shared by what makes jobs.
type waitFlags struct {
	wait    bool
	timeout string
}

func (w *waitFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&w.wait, "wait", false, "wait for the job to end; exit 0 if it succeeded, 1 if not")
	fs.StringVar(&w.timeout, "wait-timeout", "", "give up waiting after this long; the job goes on")
}

// jobMade shows a job that was just made, and waits for it if asked to.
func (c *cli) jobMade(ctx context.Context, s *conn, e belfry.Enqueued, w waitFlags) error {
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
	return c.waitFor(ctx, s, []belfry.Job{e.Job}, w.timeout)
}

// patience ends ctx when --wait-timeout says so, and warns where waiting is in
// vain.
func (c *cli) patience(ctx context.Context, s *conn, timeout string) (context.Context, context.CancelFunc, error) {
	var limit belfry.Duration
	if err := duration(func(string) bool { return timeout != "" }, "wait-timeout", timeout, &limit); err != nil {
		return ctx, nil, err
	}
	if timeout != "" && limit <= 0 {
		return ctx, nil, belfry.InvalidField("--wait-timeout", timeout, "is no time to wait", "such as 30s; without it there is no end")
	}
	c.noteIdle(s)
	if limit == 0 {
		return ctx, func() {}, nil
	}
	ctx, stop := context.WithTimeout(ctx, limit.D())
	return ctx, stop, nil
}

// noteIdle says that a job will wait, where nobody is there who could run it.
func (c *cli) noteIdle(s *conn) {
	if s.direct {
		fmt.Fprintln(c.stderr, "note: no server runs, so nobody runs jobs until one does")
	}
}

// waitFor waits for jobs and shows each as it ends. The exit code is 1 when
// one of them did not succeed.
func (c *cli) waitFor(ctx context.Context, s *conn, jobs []belfry.Job, timeout string) error {
	ctx, stop, err := c.patience(ctx, s, timeout)
	if err != nil {
		return err
	}
	defer stop()
	failed := false
	for _, j := range jobs {
		done, err := app.WaitJob(ctx, s, j.Namespace, j.ID)
		if errors.Is(err, context.DeadlineExceeded) {
			return belfry.Errorf(belfry.Unavailable, "job %d has not ended, it is %s", j.ID, done.State).WithHint("belfry job why %d", j.ID)
		}
		if err != nil {
			return err
		}
		failed = failed || done.State != belfry.JobSucceeded
		if err := c.emit(done, func(w io.Writer) { c.drawEnd(w, done) }); err != nil {
			return err
		}
	}
	if failed {
		return exitStatus(exitFailed)
	}
	return nil
}

func (c *cli) drawEnd(w io.Writer, j belfry.Job) {
	paint := painter(c.colorOn(c.stdout))
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
			var jobs []belfry.Job
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
	cmd.Flags().StringVar(&w.timeout, "wait-timeout", "", "give up waiting after this long; the jobs go on")
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
