package job

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Settlement is the decision of [Settle]: the new values of the job's row.
type Settlement struct {
	State    State
	Reason   core.Reason
	Note     string
	DueAt    time.Time // set if State is scheduled or ready
	Failures int
	Infra    int
	Snoozes  int
	Outcome  Outcome // as recorded for the attempt
	Error    string
}

// Settle decides what the end of an attempt means for its job. [OutcomeLost] is
// the outcome of a lost worker, and of an attempt that its worker reports as cut
// off; the latter says when the attempt began.
//
// A requested cancellation prevails over the outcome of the attempt, except over
// a success.
func Settle(j Job, r task.Retry, f Finish, now time.Time) Settlement {
	s := Settlement{Failures: j.Failures, Infra: j.Infra, Snoozes: j.Snoozes, Outcome: f.Outcome, Error: f.Error, DueAt: j.DueAt}
	switch {
	case f.Outcome == OutcomeOK:
		s.State, s.Error = Succeeded, ""
	case !j.CancelAt.IsZero() || f.Outcome == OutcomeCanceled:
		s.State, s.Reason, s.Note = Canceled, schedule.ReasonCanceled, j.Note
	case f.Outcome == OutcomeHandedBack:
		s.State, s.DueAt = Ready, now
	case f.Outcome == OutcomeLost && j.Ahead && f.StartedIn == 0 && j.MayWait(r):
		s.State, s.DueAt, s.Outcome = Ready, now, OutcomeHandedBack
		s.Error = "its worker was lost before it said that the job had begun"
	case f.Outcome == OutcomeSnoozed:
		s.snooze(f, now)
	default:
		s.fail(j, r, f, now)
	}
	return s
}

func (s *Settlement) snooze(f Finish, now time.Time) {
	s.Snoozes++
	if s.Snoozes > MaxSnoozes {
		s.State, s.Reason = Failed, schedule.ReasonSnoozes
		s.Error = fmt.Sprintf("put off %d times, which is as often as may be", MaxSnoozes)
		return
	}
	s.State, s.Reason, s.DueAt = Scheduled, schedule.ReasonSnoozed, now.Add(min(f.Snooze, MaxSnooze).D())
}

// fail uses one attempt and either plans a retry or fails the job.
//
// A fault of the machine uses an infrastructure retry while any are left. After
// that it counts like any failure, but keeps the delay of such a fault. So a job
// starts at most max_attempts + infra attempts, without those snoozed or handed
// back.
func (s *Settlement) fail(j Job, r task.Retry, f Finish, now time.Time) {
	lost := f.Outcome == OutcomeLost
	if (lost || f.Infra) && !f.NoRetry && !(lost && r.OnLost == task.OnLostFail) && s.Infra < r.Infra {
		s.Infra++
		s.again(now, r.AfterFault(j.ID, s.Infra, lost))
		return
	}
	s.Failures++
	switch {
	case f.NoRetry:
		s.State, s.Reason = Failed, schedule.ReasonNoRetry
	case lost && r.OnLost == task.OnLostFail:
		s.State, s.Reason = Failed, schedule.ReasonLost
	case s.Failures >= j.MaxAttempts:
		s.State, s.Reason = Failed, schedule.ReasonExhausted
	case f.Infra && r.Infra > 0:
		s.again(now, r.AfterFault(j.ID, s.Infra+s.Failures, lost))
	default:
		s.again(now, r.After(j.ID, s.Failures))
	}
}

func (s *Settlement) again(now time.Time, delay time.Duration) {
	s.State, s.DueAt = Scheduled, now.Add(delay)
	if delay == 0 {
		s.State = Ready
	}
}

// Withdraw returns the end of a job that will not start: its schedule was paused,
// edited or deleted, or the job was canceled.
func Withdraw(j Job, reason core.Reason, note string) Settlement {
	s := Settlement{State: Skipped, Reason: reason, Note: note, Failures: j.Failures, Infra: j.Infra, Snoozes: j.Snoozes, Error: j.Error, DueAt: j.DueAt}
	if j.Attempt > 0 || reason == schedule.ReasonCanceled {
		s.State = Canceled
	}
	return s
}

// Snoozed reports whether a job waits because its last attempt put it off, and not for a retry.
func (j Job) Snoozed() bool { return j.State == Scheduled && j.Reason == schedule.ReasonSnoozed }

// MayWait reports whether a worker may claim the job ahead, before it has a free
// slot. If such a worker is lost, it is unknown whether the job had begun, and
// [Settle] assumes that it had not. That is allowed once only, because the job
// may be the cause of the loss. And it is allowed only if the job may run again
// anyway: its loss is not final, and it has more than one attempt.
func (j Job) MayWait(r task.Retry) bool {
	attempts := j.Attempt
	if j.State == Running {
		attempts-- // the current attempt
	}
	return attempts == 0 && j.MaxAttempts > 1 && r.OnLost != task.OnLostFail
}
