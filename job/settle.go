package job

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Settlement is the answer of [Settle]: what the job's row becomes.
type Settlement struct {
	State    State
	Reason   core.Reason
	Note     string
	DueAt    time.Time // when State is scheduled or ready
	Failures int
	Infra    int
	Snoozes  int
	Outcome  Outcome // as recorded for the attempt
	Error    string
}

// Settle decides what an attempt's end means for its job. A lost worker comes
// through here like everybody else, as [OutcomeLost]; so does what a worker
// itself says was cut off, which tells when it had begun.
//
// Someone who asked for the job to end gets that, whatever the attempt said,
// unless it succeeded first: a success is a fact.
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
	s.State, s.DueAt = Scheduled, now.Add(min(f.Snooze, MaxSnooze).D())
}

// fail spends one try and either plans the next or ends the job for good.
//
// A fault of the machine spends an infrastructure retry as long as there are
// some, and counts like any other failure from then on, but its delay is that of such a fault. So a job begins at most
// max_attempts + infra attempts that are neither snoozed nor handed back: the
// first one is among max_attempts, and infra are all further ones.
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

// Withdraw is how a job ends that has not started and will not: its schedule
// was paused, edited or deleted, or it was canceled.
func Withdraw(j Job, reason core.Reason, note string) Settlement {
	s := Settlement{State: Skipped, Reason: reason, Note: note, Failures: j.Failures, Infra: j.Infra, Snoozes: j.Snoozes, Error: j.Error, DueAt: j.DueAt}
	if j.Attempt > 0 || reason == schedule.ReasonCanceled {
		s.State = Canceled
	}
	return s
}

// MayWait reports that a worker may claim a job ahead: before it has a free slot
// for it. If such a worker is lost, it is unknown whether the job had begun, and
// [Settle] takes it for one that had not. That is forgiven once: a job that
// another worker had before may be what its worker died of. And it is only for jobs
// that may run again anyway, so neither for those whose loss is final nor for
// those with a single try.
func (j Job) MayWait(r task.Retry) bool {
	attempts := j.Attempt
	if j.State == Running {
		attempts-- // the one that is under way
	}
	return attempts == 0 && j.MaxAttempts > 1 && r.OnLost != task.OnLostFail
}
