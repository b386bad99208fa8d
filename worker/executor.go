package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/delivery"
	"github.com/belfry-run/belfry/worker/internal/lease"
)

// Executor runs attempts of one kind.
//
// The context ends when the attempt must end. [context.Cause] is then one of
// [ErrTimeout], [ErrCanceled], [ErrShutdown] and [ErrLost]. An executor returns
// the result that it observed; the worker interprets the cause. A panic fails
// the attempt.
type Executor interface {
	Execute(ctx context.Context, r *Run) job.Finish
}

// Why the context of an attempt ended.
var (
	// ErrTimeout: the attempt reached its timeout.
	ErrTimeout = errors.New("timeout")
	// ErrCanceled: the job was canceled. A handler may also return it to end its
	// own job as canceled.
	ErrCanceled = errors.New("canceled")
	// ErrShutdown: the worker stops; the job is handed back and starts again
	// elsewhere.
	ErrShutdown = errors.New("worker is shutting down")
	// ErrLost: the worker's session is lost and another worker may start the job
	// at any moment. Stop at once, without grace; no result is reported.
	ErrLost = errors.New("session was lost")
)

// Run is one attempt to execute: a job, its task, and writers for its output.
// The writers are safe for concurrent use, never fail, and ignore writes after
// the end of the attempt.
type Run struct {
	Job     *job.Job   // as it stood at the claim: not to be changed
	Task    *task.Task // shared by the jobs of a claim: not to be changed
	Lease   int64
	Session string // of the worker

	Stdout io.Writer
	Stderr io.Writer
	Log    io.Writer // lines of the worker and of the handler's logger

	// Artifact is the signed request for the bytes of a program. Secrets are its
	// variables with values of secrets. Never log either.
	Artifact *task.SignedRequest
	Secrets  map[string]string

	Arrived time.Time // when its claim came
	lost    <-chan struct{}
	until   *lease.Lease // of the worker's session

	overtime func(time.Duration) (context.Context, context.CancelFunc) // nil: the attempt has no timeout

	atCapacity bool
	inTurn     bool // [job.LeasedJob.InTurn]
	log        interface {
		Flush(time.Duration) (cut bool)
	}
	steps    stepBook
	progress *delivery.ProgressSender // nil: progress is not delivered
	settled  *atomic.Bool             // the result may have been reported elsewhere already
}

func newRun(job job.Job, task task.Task, stdout, stderr, log io.Writer) *Run {
	return &Run{
		Job: &job, Task: &task,
		Stdout: stdout, Stderr: stderr, Log: log,
		log:     noLog{},
		settled: new(atomic.Bool),
	}
}

// noLog is the log of a run whose output is not delivered.
type noLog struct{}

func (noLog) Flush(time.Duration) bool { return false }

// Ref returns the reference of the attempt: job and lease number.
func (r *Run) Ref() job.Ref { return job.Ref{JobID: r.Job.ID, Lease: r.Lease} }

// Now returns the time by the server's clock, as the worker can tell it: that of the claim, and the time since it came.
// The clock of the worker's machine may be wrong.
func (r *Run) Now() time.Time {
	if r.Arrived.IsZero() || r.Job.ClaimedAt.IsZero() { // it was not claimed, or not from Belfry
		return time.Now()
	}
	return r.Job.ClaimedAt.Add(time.Since(r.Arrived))
}

// Input returns the input of the job, or that of the task if the job has none.
func (r *Run) Input() json.RawMessage {
	if len(r.Job.Input) > 0 {
		return r.Job.Input
	}
	return r.Task.Input
}

// Timeout returns how long the attempt may take.
func (r *Run) Timeout() time.Duration {
	switch {
	case r.Job.Timeout > 0:
		return r.Job.Timeout.D()
	case r.Task.Timeout > 0:
		return r.Task.Timeout.D()
	}
	return task.DefaultTimeout.D()
}

// Key returns an idempotency key: the same for all attempts of the job, and
// different for every other job.
func (r *Run) Key() string {
	return fmt.Sprintf("belfry-%d-%d", r.Job.ID, r.Job.CreatedAt.UnixMicro())
}

// Lost returns a channel that is closed when the worker's session is lost: stop
// all processes of this attempt at once. It is for executors that take a while
// to stop, whose context has ended already with an earlier cause.
func (r *Run) Lost() <-chan struct{} { return r.lost }

// Until returns the time at which all processes of this attempt must have ended, unless the worker's session is
// renewed. The channel is closed when a renewal moves that time. It is for executors with a second process that
// enforces the time if this one hangs. A zero time means that there is no such limit.
func (r *Run) Until() (end time.Time, later <-chan struct{}) {
	if r.until == nil {
		return time.Time{}, nil
	}
	return r.until.Until()
}

// Overtime returns a context for work that remains after the task has ended in time. ctx is the context of the attempt. The
// timeout of the attempt no longer applies; the returned context ends after d, and at any other end of the attempt. If the
// attempt has ended, so has the returned context.
func (r *Run) Overtime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if r.overtime == nil {
		return context.WithTimeout(ctx, d)
	}
	return r.overtime(d)
}

// wordsOfWorker is the number of bytes in a program's log for lines of the worker itself.
const wordsOfWorker = 64 << 10

// outputLimit returns how many bytes of output are kept. For a program the
// executor enforces the limit, because it keeps the end as well.
func outputLimit(t *task.Task) int {
	if g := t.Program; g != nil {
		return int(g.Limits.Log) + wordsOfWorker
	}
	if c := t.Command; c != nil && c.OutputLimit > 0 {
		return c.OutputLimit
	}
	return task.DefaultOutputLimit
}

// CutOff returns the result of an attempt that this machine ended midway through
// no fault of the job. Its progress is unknown, so on_lost of the task decides
// whether the job starts again.
func (r *Run) CutOff(why string) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeLost, Error: why}
}

// HeardLate is the reason of [Run.CutOff] for an attempt whose keeper process ended it at the time of [Run.Until] and
// learned only then that a renewal had moved this time.
const HeardLate = "this machine was too slow: the process that ends it with its worker's session heard too late that the session goes on"

// Failed returns the result of an attempt that ended in an error and may be retried.
func (r *Run) Failed(format string, args ...any) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeError, Error: fmt.Sprintf(format, args...)}
}

// Refused returns the result of an attempt that ended in a permanent error: it is not retried.
func (r *Run) Refused(format string, args ...any) job.Finish {
	f := r.Failed(format, args...)
	f.NoRetry = true
	return f
}
