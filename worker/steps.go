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

// Step runs fn and records its result as JSON under the lease of the attempt.
// A later attempt of the job, after an error, a crash or a lost worker, takes
// the result from the record and does not run fn. An error of fn is not
// recorded: return it, and the next attempt runs fn again.
//
// The record is written once. fn runs at least once: if the process dies
// between its effect and the record, it runs again, so call other services
// with a key that does not change, such as [JobFrom] gives with the job's ID.
//
// Steps run one after the other, each with a name of its own, and in the same
// order in every attempt: what a handler does may depend on its input and on
// results of steps, not on time or chance. A handler whose code was changed so
// that it does not fit the record gets a [core.Conflict] that says what is
// recorded; see [Version]. The result is at most [job.MaxStepResult], a job has
// at most [job.MaxSteps].
func Step[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (out T, err error) {
	b, err := bookFrom(ctx, "Step")
	if err != nil {
		return out, err
	}
	raw, err := b.Run(ctx, name, reflect.TypeFor[T]().String(), func() (json.RawMessage, error) {
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
		return out, hopeless(err)
	}
	// The result was read from JSON also where fn has just run, so that
	// the first attempt sees no more of it than later ones do.
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, NoRetry(fmt.Errorf("result of step %q does not fit its type: %w", name, err))
	}
	return out, nil
}

// Sleep returns nil when d has passed since the job first came here. Until then
// it returns an error for the handler to return: the attempt ends, its slot is
// free, and the job starts again when the time has come. That is no failure,
// and months cost as little as seconds. At most ten years.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	b, err := bookFrom(ctx, "Sleep")
	if err != nil {
		return err
	}
	return hopeless(b.Sleep(ctx, name, d))
}

// WaitSignal waits for the signal of that name to the job, at most for the
// timeout since the job first came here, and answers what it brought. Nothing
// comes if came is false: the timeout has passed. Until then it returns an error
// for the handler to return, as [Sleep] does: the attempt ends, its slot is free,
// and the signal starts the job again at once.
//
// A signal that came before the wait is kept for it, and what ended the wait is
// recorded: later attempts get the same. Signals are sent by the API, by
// belfry job signal or by SignalJob of a store or client. At most ten years.
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

// SignalLink makes an address at which a person or a program sends a signal to
// the job without a token, for what [WaitSignal] waits for. Its path is that of
// the address on the server. It is no step: each call makes another. Make it and
// send it in one [Step], and leave it out of the result, which others see.
func SignalLink(ctx context.Context, l job.Link) (job.NewLink, error) {
	b, err := bookFrom(ctx, "SignalLink")
	if err != nil {
		return job.NewLink{}, err
	}
	made, err := b.Link(ctx, l)
	return made, hopeless(err)
}

// Spawn enqueues a job and answers its ID. The job is made in the transaction
// that records the step: once, over all attempts. It goes on whatever becomes of
// this one. Leave out Key and ActiveKey, and make it with [TaskOf.New] or by
// hand; it is in the namespace of this job.
func Spawn(ctx context.Context, name string, n job.NewJob) (id int64, err error) {
	b, err := bookFrom(ctx, "Spawn")
	if err != nil {
		return 0, err
	}
	id, err = b.Spawn(ctx, name, n)
	return id, hopeless(err)
}

// Await waits for the end of a job that [Spawn] has enqueued, and answers how it
// ended; a failure of the job is no error. Until then it returns an error for the
// handler to return, as [Sleep] does: the attempt ends, its slot is free, and the
// end of the job starts this one again at once.
func Await(ctx context.Context, name string, child int64) (job.Ended, error) {
	b, err := bookFrom(ctx, "Await")
	if err != nil {
		return job.Ended{}, err
	}
	how, err := b.Await(ctx, name, child)
	return how, hopeless(err)
}

// Version is how a handler whose steps change goes on with jobs that have begun.
// It answers current, and records it, for a job that comes here first under
// this code, the recorded version for one that was here before, and 0 for one
// that recorded later steps before the call was there:
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

// Progress says how far the attempt is, in the place of what it said before. It
// returns at once; about once a second the last of it is written, and shown
// with an estimate of the end. An error says that it is not fit to be shown.
func Progress(ctx context.Context, g job.Progress) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if r, ok := runFrom(ctx); ok && r.tell != nil {
		r.tell.Tell(r.Session, r.Ref(), g)
	}
	return nil
}

// hopeless marks errors that come again in every attempt.
func hopeless(err error) error {
	switch core.CodeOf(err) {
	case core.Invalid, core.TooLarge:
		return NoRetry(err)
	}
	return err
}

// stepBook is made with the first step: most handlers have none.
type stepBook struct {
	once   sync.Once
	book   atomic.Pointer[steps.Book]
	broker job.Leaser // nil: nothing is recorded
}

func bookFrom(ctx context.Context, what string) (*steps.Book, error) {
	r, ok := runFrom(ctx)
	if !ok {
		return nil, core.Errorf(core.Internal, "%s outside of an attempt", what).
			WithHint("pass the context that the handler was called with")
	}
	keeper, keeps := r.steps.broker.(job.StepKeeper)
	if !keeps && r.steps.broker != nil {
		return nil, core.Errorf(core.Internal, "the broker of this worker keeps no steps").WithHint("use a store or a client of the HTTP API as the broker")
	}
	r.steps.once.Do(func() {
		r.steps.book.Store(steps.New(steps.Attempt{Keeper: keeper, Ref: r.Ref(), Session: r.Session, Number: r.Job.Attempt, Lost: r.lost, Gone: ErrLost}))
	})
	return r.steps.book.Load(), nil
}

// withSteps is what came of a handler, in the light of its steps.
func (r *Run) withSteps(err error) error {
	book := r.steps.book.Load() // a goroutine of the handler may make its first step just now
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

// sleeping is a [Snooze] with the words of the sleep.
type sleeping struct {
	snooze
	asleep error
}

func (s sleeping) Error() string { return s.asleep.Error() }
func (s sleeping) Unwrap() error { return s.snooze }
