package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Snooze is an error for a handler that wants its job put off: it runs again
// in d, and this attempt counts against no limit but [job.MaxSnoozes].
func Snooze(d time.Duration) error { return snooze(max(d, 0)) }

type snooze time.Duration

func (s snooze) Error() string { return fmt.Sprintf("put off for %s", time.Duration(s)) }

// NoRetry marks an error that no further try can mend: the job fails now,
// whatever its policy says. NoRetry(nil) is nil.
func NoRetry(err error) error {
	if err == nil {
		return nil
	}
	return noRetry{err}
}

type noRetry struct{ error }

func (n noRetry) Unwrap() error { return n.error }

// fromError is what a handler's error means.
func fromError(r *Run, err error) job.Finish {
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeError, Error: err.Error()}
	var put snooze
	switch {
	case errors.As(err, &put):
		f.Outcome, f.Snooze = job.OutcomeSnoozed, core.Duration(put)
	case errors.Is(err, ErrCanceled):
		f.Outcome = job.OutcomeCanceled
	default:
		f.NoRetry = errors.As(err, new(noRetry))
	}
	return f
}

// conclude says what an attempt's end means, given why its context ended, if
// it did. Report is false when the end need not be reported.
//
// An explicit answer stands: a success is a fact, and a handler that puts its
// job off or forbids another try has said what it wants. Any other error after
// the context ended is taken for its consequence.
func conclude(f job.Finish, cause error, timeout time.Duration) (_ job.Finish, report bool) {
	switch {
	case errors.Is(cause, ErrLost):
		return f, false
	case cause == nil, f.Outcome == job.OutcomeOK, f.Outcome == job.OutcomeSnoozed:
		return f, true
	case errors.Is(cause, ErrTimeout):
		f.Outcome = job.OutcomeTimeout
		f.Error = explain(fmt.Sprintf("ran longer than its timeout of %s", core.Duration(timeout)), f.Error)
	case errors.Is(cause, ErrShutdown):
		if f.NoRetry {
			return f, true
		}
		f.Outcome = job.OutcomeHandedBack
		f.Error = explain(ErrShutdown.Error(), f.Error)
	default:
		f.Outcome = job.OutcomeCanceled
		f.Error = explain(ErrCanceled.Error(), f.Error)
	}
	return f, true
}

// explain puts our reason before the handler's words, unless these only
// repeat that the context ended.
func explain(reason, said string) string {
	switch said {
	case "", reason, "context canceled", "context deadline exceeded":
		return reason
	}
	return reason + ": " + said
}
