package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/steps"
)

// Step runs fn and records its result as JSON under the lease of the attempt. A later attempt of the job, after an error, a
// crash or a lost worker, gets the recorded result and does not run fn. An error of fn is not recorded: return it, and the next
// attempt runs fn again.
//
// The result is recorded once, but fn runs at least once: if the process dies between the effect of fn and the record, fn runs
// again. So call other services with a key that does not change, such as the job's ID from [JobFrom].
//
// Steps run one after the other, each with its own name, and in the same order in every attempt. So a handler may depend on its
// input and on results of steps, but not on time or chance. If the code of the handler no longer fits the record, Step fails
// with a [core.Conflict] that names the recorded step; see [Version]. The result is at most [job.MaxStepResult] bytes; a job has
// at most [job.MaxSteps] steps.
func Step[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (out T, err error) {
	b, err := bookFrom(ctx, "Step")
	if err != nil {
		return out, err
	}
	fresh, err := b.Run(ctx, name, reflect.TypeFor[T]().String(), &out, func() (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, NoRetry(fmt.Errorf("result of step %q is not JSON: %w", name, err))
		}
		return raw, nil
	})
	if err != nil {
		return *new(T), hopeless(err)
	}
	// What fn has just returned is decoded from its JSON too, so that the first attempt sees the same value as later ones.
	if fresh != nil {
		err = json.Unmarshal(fresh, &out)
	}
	if err != nil {
		return out, NoRetry(fmt.Errorf("result of step %q does not fit its type: %w", name, err))
	}
	return out, nil
}

// Sleep returns nil when d has passed since the job first reached this call. Before that it returns an error that the handler
// must return: the attempt ends, its slot is free, and the job starts again when d has passed. That does not count as a failure,
// and months cost no more than seconds. d is at most ten years.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	b, err := bookFrom(ctx, "Sleep")
	if err != nil {
		return err
	}
	return hopeless(b.Sleep(ctx, name, d))
}

// WaitSignal waits for the signal of that name to the job and returns its data. came is false if the timeout has passed since
// the job first reached this call. Before either, WaitSignal returns an error that the handler must return, as for [Sleep]: the
// attempt ends, its slot is free, and the signal starts the job again at once.
//
// A signal that came before the wait is kept for it. The end of the wait is recorded, so later attempts get the same result.
// Signals are sent through the API, with belfry job signal, or with SignalJob of a store or client. The timeout is at most ten
// years.
func WaitSignal[T any](ctx context.Context, name string, timeout time.Duration) (brought T, came bool, err error) {
	b, err := bookFrom(ctx, "WaitSignal")
	if err != nil {
		return brought, false, err
	}
	raw, came, err := b.Signal(ctx, name, reflect.TypeFor[T]().String(), timeout)
	if err != nil || !came {
		return brought, false, hopeless(err)
	}
	if err := json.Unmarshal(raw, &brought); err != nil {
		return brought, false, NoRetry(core.Errorf(core.Invalid, "signal %q does not fit its type: %w", name, err).
			WithHint("send another: belfry job reset-steps %d --from %s forgets this one", b.Ref.JobID, job.Step{Name: name}.Word()))
	}
	return brought, true, nil
}

// SignalLink creates a link through which a person or program can send a signal to the job without a token: see [WaitSignal].
// The path of the link is relative to the address of the server. SignalLink is not a step: each call creates another link.
// Create and send the link in one [Step], and leave it out of the result of the step, which others can read.
func SignalLink(ctx context.Context, l job.Link) (job.NewLink, error) {
	b, err := bookFrom(ctx, "SignalLink")
	if err != nil {
		return job.NewLink{}, err
	}
	made, err := b.Link(ctx, l)
	return made, hopeless(err)
}

// Spawn enqueues a job and returns its ID. The job is created in the transaction that records the step, so only once over all
// attempts. It goes on whatever happens to the job that spawned it. Build n with [TaskOf.New] or by hand, without Key and
// ActiveKey. The job gets the namespace of this job.
func Spawn(ctx context.Context, name string, n job.NewJob) (id int64, err error) {
	b, err := bookFrom(ctx, "Spawn")
	if err != nil {
		return 0, err
	}
	id, err = b.Spawn(ctx, name, n)
	return id, hopeless(err)
}

// Await waits for the end of a job that [Spawn] has enqueued, and returns how it ended. A failure of that job is not an error.
// Before its end, Await returns an error that the handler must return, as for [Sleep]: the attempt ends, its slot is free, and
// the end of that job starts this one again at once.
func Await(ctx context.Context, name string, child int64) (job.Ended, error) {
	b, err := bookFrom(ctx, "Await")
	if err != nil {
		return job.Ended{}, err
	}
	how, err := b.Await(ctx, name, child)
	return how, hopeless(err)
}

// Version lets a handler change its steps while jobs of the old code still run. If the job reaches this call for the first time,
// Version records and returns current; later attempts get the recorded version. It returns 0 if the job had recorded later steps
// before the call was added:
//
//	if v, err := worker.Version(ctx, "check stock", 1); err != nil {
//		return err
//	} else if v >= 1 {
//		... steps that jobs which had begun do not have ...
//	}
func Version(ctx context.Context, change string, current int) (int, error) {
	b, err := bookFrom(ctx, "Version")
	if err != nil {
		return 0, err
	}
	v, err := b.Version(ctx, change, current)
	return v, hopeless(err)
}

// Progress sets the progress of the attempt, and replaces its earlier progress. It returns at once. About once a second the last
// value is written; it is shown with an estimate of the end. Progress fails if g is invalid.
func Progress(ctx context.Context, g job.Progress) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if r, ok := runFrom(ctx); ok && r.progress != nil {
		r.progress.Put(r.Session, r.Ref(), g)
	}
	return nil
}

// hopeless marks errors that would come again in every attempt as permanent.
func hopeless(err error) error {
	switch core.CodeOf(err) {
	case core.Invalid, core.TooLarge:
		return NoRetry(err)
	}
	return err
}

// stepBook creates the book with the first step, because most handlers have none.
type stepBook struct {
	once   sync.Once
	book   atomic.Pointer[steps.Book]
	leaser job.Leaser // nil: steps are not recorded
}

func bookFrom(ctx context.Context, what string) (*steps.Book, error) {
	r, ok := runFrom(ctx)
	if !ok {
		return nil, core.Errorf(core.Internal, "%s outside of an attempt", what).
			WithHint("pass the context that the handler was called with")
	}
	r.until.Holds() // if not, this ends ctx, which may be a child of the attempt's context that does not ask for itself
	keeper, keeps := r.steps.leaser.(job.StepKeeper)
	if !keeps && r.steps.leaser != nil {
		return nil, core.Errorf(core.Internal, "the leaser of this worker keeps no steps").WithHint("use a store or a client of the HTTP API")
	}
	r.steps.once.Do(func() {
		r.steps.book.Store(steps.New(steps.Attempt{Keeper: keeper, Ref: r.Ref(), Session: r.Session, Number: r.Job.Attempt, Lost: r.lost, Gone: ErrLost}))
	})
	return r.steps.book.Load(), nil
}

// withSteps adjusts the error of a handler to the state of its steps.
func (r *Run) withSteps(err error) error {
	book := r.steps.book.Load() // atomic: a goroutine of the handler may begin its first step now
	if book == nil {
		return err
	}
	err = book.Close(err)
	var asleep *steps.Asleep
	if errors.As(err, &asleep) {
		return sleeping{snooze(asleep.Left), asleep}
	}
	return hopeless(err)
}

// sleeping is a [Snooze] with the error text of the sleep.
type sleeping struct {
	snooze
	asleep error
}

func (s sleeping) Error() string { return s.asleep.Error() }
func (s sleeping) Unwrap() error { return s.snooze }
