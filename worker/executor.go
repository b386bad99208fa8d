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
// The context ends when the attempt must: [context.Cause] is then one of
// [ErrTimeout], [ErrCanceled], [ErrShutdown] and [ErrLost]. An executor gives
// back what it saw and leaves the meaning of the cause to the worker. A panic
// in it is a failed attempt.
type Executor interface {
	Execute(ctx context.Context, r *Run) job.Finish
}

// Why the context of an attempt ended.
var (
	// ErrTimeout: the job ran as long as it may.
	ErrTimeout = errors.New("timeout")
	// ErrCanceled: the job was canceled. A handler may also
	// return it, to end its own job as canceled.
	ErrCanceled = errors.New("canceled")
	// ErrShutdown: the worker stops; the job is handed back and starts again
	// elsewhere.
	ErrShutdown = errors.New("worker is shutting down")
	// ErrLost: the worker's session is over and another worker may start the
	// job any moment. Stop at once, without any grace; no result is reported.
	ErrLost = errors.New("session was lost")
)

// Run is one attempt to execute: a job, its task, and where its output goes.
// The writers are safe for concurrent use, never fail, and ignore what comes
// after the attempt has ended.
type Run struct {
	Job     *job.Job   // as it stood at the claim: not to be changed
	Task    *task.Task // shared by the jobs of a claim: not to be changed
	Lease   int64
	Session string // of the worker

	Stdout io.Writer
	Stderr io.Writer
	Log    io.Writer // the worker's and the handler's own words

	// Artifact is where the bytes of a program are, and Secrets its variables
	// with the values of secrets. Neither belongs into a log.
	Artifact *task.SignedRequest
	Secrets  map[string]string

	lost  <-chan struct{}
	until *lease.Lease // of the worker's session

	overtime func(time.Duration) (context.Context, context.CancelFunc) // nil: it has no time at all

	noRoom bool
	inTurn bool // [job.LeasedJob.InTurn]
	log    interface {
		Flush(time.Duration) (cut bool)
	}
	steps   stepBook
	tell    *delivery.Teller // nil: how far it is is not wanted
	settled *atomic.Bool     // the result may have been reported elsewhere already
}

func newRun(job job.Job, task task.Task, stdout, stderr, log io.Writer) *Run {
	return &Run{
		Job: &job, Task: &task,
		Stdout: stdout, Stderr: stderr, Log: log,
		log:     noLog{},
		settled: new(atomic.Bool),
	}
}

// noLog is where nothing has to travel.
type noLog struct{}

func (noLog) Flush(time.Duration) bool { return false }

// Ref names the attempt.
func (r *Run) Ref() job.Ref { return job.Ref{JobID: r.Job.ID, Lease: r.Lease} }

// Input is the job's own, or else the task's.
func (r *Run) Input() json.RawMessage {
	if len(r.Job.Input) > 0 {
		return r.Job.Input
	}
	return r.Task.Input
}

// Timeout is how long the attempt may take.
func (r *Run) Timeout() time.Duration {
	switch {
	case r.Job.Timeout > 0:
		return r.Job.Timeout.D()
	case r.Task.Timeout > 0:
		return r.Task.Timeout.D()
	}
	return task.DefaultTimeout.D()
}

// Key is the same for all attempts of the job and for no other job, so that a
// service which is called twice can tell.
func (r *Run) Key() string {
	return fmt.Sprintf("belfry-%d-%d", r.Job.ID, r.Job.CreatedAt.UnixMicro())
}

// Lost is closed when the worker's session is lost: what still runs for this
// attempt must be stopped at once. It is for executors that take a while to
// stop: their context has ended by then, with the cause that came first.
func (r *Run) Lost() <-chan struct{} { return r.lost }

// Until is when what runs for this attempt has to be gone, as far as the worker's
// session has been renewed; the channel is closed when that is later than was said. It is for executors
// that can have it kept by another process, in case this one hangs. Zero: there is no such time.
func (r *Run) Until() (end time.Time, later <-chan struct{}) {
	if r.until == nil {
		return time.Time{}, nil
	}
	return r.until.Until()
}

// Overtime is for what is left to do when the task has ended within its time: the timeout of the attempt, whose context is ctx,
// is over with, and the context that it returns ends after d. Any other end of the attempt ends that too. Of an attempt that has
// ended it is the end already.
func (r *Run) Overtime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if r.overtime == nil {
		return context.WithTimeout(ctx, d)
	}
	return r.overtime(d)
}

// wordsOfWorker is room in a program's log for what the worker itself says.
const wordsOfWorker = 64 << 10

// outputLimit is how many bytes of output are kept. Of a program the executor
// keeps the limit itself, because it keeps the end as well.
func outputLimit(t *task.Task) int {
	if g := t.Program; g != nil {
		return int(g.Limits.Log) + wordsOfWorker
	}
	if c := t.Command; c != nil && c.OutputLimit > 0 {
		return c.OutputLimit
	}
	return task.DefaultOutputLimit
}

// CutOff is an attempt that this machine ended in the middle, for no fault of
// the job's: it is unknown how far it came, so that the task's on_lost says
// whether it may start again.
func (r *Run) CutOff(why string) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeLost, Error: why}
}

// HeardLate is why an attempt was cut off whose keeper ended it at the time of [Run.Until], and heard only then that this
// was put off.
const HeardLate = "this machine was too slow: the process that ends it with its worker's session heard too late that the session goes on"

// Failed is an attempt that ended in an error and may be tried again.
func (r *Run) Failed(format string, args ...any) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeError, Error: fmt.Sprintf(format, args...)}
}

// Refused is an attempt that ended in an error no further try can mend.
func (r *Run) Refused(format string, args ...any) job.Finish {
	f := r.Failed(format, args...)
	f.NoRetry = true
	return f
}
