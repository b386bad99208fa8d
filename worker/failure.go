package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Snooze returns an error with which a handler postpones its job: the job runs
// again after d, at most [job.MaxSnooze]. The attempt counts against no limit but
// [job.MaxSnoozes].
func Snooze(d time.Duration) error { return snooze(max(d, 0)) }

type snooze time.Duration

func (s snooze) Error() string { return fmt.Sprintf("put off for %s", time.Duration(s)) }

// NoRetry marks err as permanent: the job fails now, whatever its retry policy.
// NoRetry(nil) is nil.
func NoRetry(err error) error {
	if err == nil {
		return nil
	}
	return noRetry{err}
}

type noRetry struct{ error }

func (n noRetry) Unwrap() error { return n.error }

// fromError converts the error of a handler to a result.
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

// conclude adjusts a result to the cause that ended the context, if any. report
// is false if the result must not be reported.
//
// An explicit result stands: a success, a snooze or a permanent error. Any other
// error after the end of the context is taken for a consequence of that end.
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

// explain puts the reason before the error text of the handler, unless that text
// only repeats that the context ended.
func explain(reason, said string) string {
	switch said {
	case "", reason, "context canceled", "context deadline exceeded":
		return reason
	}
	return reason + ": " + said
}
