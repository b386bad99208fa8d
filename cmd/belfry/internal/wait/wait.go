// Package wait waits for jobs, and shows their state and their results, for the
// verbs of all nouns that create jobs. A wait ends with the job, the time that
// the user gave, or an interrupt; the job itself goes on. A server that is away
// for a while does not end a wait.
package wait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Flags are shared by all verbs that create jobs.
type Flags struct {
	Wait    bool
	Timeout Time
}

// Time is the value of --wait-timeout. An invalid value is refused before the
// verb runs. 0: no limit.
type Time time.Duration

func (t *Time) String() string { return "" }
func (t *Time) Type() string   { return "string" }

// Set is called by pflag.
func (t *Time) Set(text string) error {
	d, err := core.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("it is no time to wait, such as 30s")
	}
	*t = Time(d)
	return err
}

// Add adds --wait and --wait-timeout.
func (w *Flags) Add(fs *pflag.FlagSet) {
	fs.BoolVar(&w.Wait, "wait", false, "wait for the job to end; exit 0 if it succeeded, 1 if not")
	fs.Var(&w.Timeout, "wait-timeout", "give up waiting after this long; the job goes on")
}

// Unanswered is the error of a request for a job. One that a person interrupts may have been carried out: the error says so,
// and how to find out or to ask again.
func Unanswered(err error, key, list string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	e := core.Errorf(core.Unknown, "interrupted before the answer came: the job may have been created")
	if key != "" {
		return e.WithHint("repeat it with --key %s: a job that was created is shown, and no second one is", key)
	}
	return e.WithHint("look for it: %s; with --key a request can be repeated", list)
}

// Made shows a new job, and waits for it if the flags say so.
func Made(ctx context.Context, c *cli.CLI, s *cli.Conn, e job.Enqueued, w Flags) error {
	if !w.Wait {
		return c.Emit(e, func(out io.Writer) {
			if e.Reason == flow.ReasonThrottled {
				fmt.Fprintf(out, "job %d was made within the window of the throttle, %s; no other was\n", e.Job.ID, e.Stands())
				return
			}
			if e.Reason == flow.ReasonDebounced {
				fmt.Fprintf(out, "joined job %d, which starts %s and stands for %d requests\n", e.Job.ID, cli.When(e.Job.DueAt, s.Now), e.Joined+1)
				return
			}
			if e.Existing {
				fmt.Fprintf(out, "job %d was there already, %s\n", e.Job.ID, e.Stands())
				return
			}
			fmt.Fprintf(out, "job %d created, %s\n", e.Job.ID, e.Job.State)
			fmt.Fprintf(c.Stderr, "try: %s\n", watch(e.Job))
		})
	}
	return For(ctx, c, s, []job.Job{e.Job}, w.Timeout)
}

// watch returns the command that shows how a new job goes.
func watch(j job.Job) string {
	switch j.Kind {
	case task.KindWorkflow:
		return fmt.Sprintf("belfry workflow show %d", j.ID)
	case task.KindCycle:
		return "belfry cycle show " + j.Task
	}
	return fmt.Sprintf("belfry job logs -f %d", j.ID)
}

// Patience returns ctx with the limit of --wait-timeout, and warns if no worker
// could run the job.
func Patience(ctx context.Context, c *cli.CLI, s *cli.Conn, timeout Time) (context.Context, context.CancelFunc) {
	NoteIdle(c, s)
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(timeout))
}

// Follow calls look repeatedly, until it reports the last one. When --wait-timeout ends it, it returns late.
func Follow(ctx context.Context, c *cli.CLI, s *cli.Conn, timeout Time, late error, look func(ctx context.Context) (last bool, err error)) error {
	ctx, stop := Patience(ctx, c, s, timeout)
	defer stop()
	for {
		last, err := look(ctx)
		if last {
			return err
		}
		if err == nil {
			err = Sleep(ctx, Pace)
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return late
		}
		if err != nil {
			return err
		}
	}
}

// NoteIdle notes that a job will wait if no worker can run it.
func NoteIdle(c *cli.CLI, s *cli.Conn) {
	if s.Direct {
		fmt.Fprintln(c.Stderr, "note: no server runs; jobs wait until one does")
	}
}

// For waits for jobs and shows each as it ends. The exit code is 1 when
// one of them did not succeed.
func For(ctx context.Context, c *cli.CLI, s *cli.Conn, jobs []job.Job, timeout Time) error {
	ctx, stop := Patience(ctx, c, s, timeout)
	defer stop()
	failed := false
	for _, j := range jobs {
		done, err := app.WaitJob(ctx, s, j.Namespace, j.ID)
		if errors.Is(err, context.DeadlineExceeded) {
			if done.ID == 0 { // the limit ended a read of the job
				done = j
			}
			return late(done)
		}
		if err != nil {
			return err
		}
		failed = failed || done.State != job.Succeeded
		if err := c.Emit(done, func(w io.Writer) { DrawEnd(c, w, done) }); err != nil {
			return err
		}
	}
	if failed {
		return cli.ExitStatus(cli.ExitFailed)
	}
	return nil
}

// DrawEnd draws how a job ended.
func DrawEnd(c *cli.CLI, w io.Writer, j job.Job) {
	paint := c.Painter()
	fmt.Fprintf(w, "job %d %s", j.ID, paint(cli.StateStyle(string(j.State)), string(j.State)))
	if !j.ClaimedAt.IsZero() && !j.FinishedAt.IsZero() {
		fmt.Fprintf(w, " after %s", core.SpanText(j.FinishedAt.Sub(j.ClaimedAt)))
	}
	if j.Reason != "" {
		fmt.Fprintf(w, " (%s)", j.Reason)
	}
	fmt.Fprintln(w)
	if j.Error != "" {
		fmt.Fprintf(w, "  %s\n", cli.Clip(j.Error, 200))
	}
}

// Sleep waits for d, or until the context ends, and then returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// State returns the state of a job. It distinguishes a retry and a job that was put off from a first try that waits for its time.
func State(j job.Job) string {
	switch {
	case j.Snoozed():
		return "snoozed"
	case j.State == job.Scheduled && j.Failures > 0:
		return "retrying"
	}
	return string(j.State)
}

// Pace is the interval of reads of a followed log.
const Pace = 300 * time.Millisecond
