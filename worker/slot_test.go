package worker

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

type run func(ctx context.Context)

func (f run) Execute(ctx context.Context, r *Run) job.Finish {
	f(ctx)
	return job.Finish{Outcome: job.OutcomeOK}
}

// inSlot executes f, and returns why the context ended and whether the attempt was
// left behind.
func inSlot(s *slot, timeout, patience time.Duration, f run) (cause error, left bool) {
	r := newRun(job.Job{Timeout: core.Duration(timeout)}, task.Task{}, io.Discard, io.Discard, io.Discard)
	s.execute(f, r, time.Now(), patience, func(_ job.Finish, why error, _ time.Time, behind bool) { cause, left = why, behind }, func(job.Finish) {})
	return cause, left
}

func TestAnAttemptThatWasCanceledLeavesItsSlotToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(t.Context())
		defer s.close()
		cause, left := inSlot(s, time.Hour, time.Minute, func(ctx context.Context) {
			s.cancel(ErrCanceled)
			<-ctx.Done()
		})
		if !errors.Is(cause, ErrCanceled) || left {
			t.Errorf("the first ended by %v, left behind: %t", cause, left)
		}
		s.refresh()
		if cause, left := inSlot(s, time.Hour, time.Minute, func(context.Context) { time.Sleep(30 * time.Minute) }); cause != nil || left {
			t.Errorf("the second ended by %v, left behind: %t", cause, left)
		}
		s.refresh()
		if cause, left := inSlot(s, time.Hour, time.Minute, func(ctx context.Context) { <-ctx.Done() }); !errors.Is(cause, ErrTimeout) || left {
			t.Errorf("the third ended by %v, left behind: %t", cause, left)
		}
	})
}

// Any cause starts the patience, and a second cause does not restart it.
func TestPatienceBeginsWithTheEndOfTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *slot, end context.CancelFunc) // called by the handler
		want time.Duration
	}{
		"timeout":            {func(*slot, context.CancelFunc) {}, 11 * time.Minute},
		"cancel":             {func(s *slot, _ context.CancelFunc) { s.cancel(ErrCanceled) }, time.Minute},
		"the worker's end":   {func(_ *slot, end context.CancelFunc) { end() }, time.Minute},
		"cancel after it":    {func(s *slot, _ context.CancelFunc) { time.Sleep(10*time.Minute + time.Second); s.cancel(ErrCanceled) }, 11 * time.Minute},
		"ended, then cancel": {func(s *slot, end context.CancelFunc) { end(); time.Sleep(time.Second); s.cancel(ErrCanceled) }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, end := context.WithCancel(t.Context())
				s := newSlot(parent)
				defer s.close()
				begun := time.Now()
				left := make(chan time.Duration, 1)
				r := newRun(job.Job{Timeout: core.Duration(10 * time.Minute)}, task.Task{}, io.Discard, io.Discard, io.Discard)
				inTime := s.execute(run(func(context.Context) { c.end(s, end); time.Sleep(time.Hour) }), r, time.Now(), time.Minute,
					func(job.Finish, error, time.Time, bool) { left <- time.Since(begun) }, func(job.Finish) {})
				if took := <-left; inTime || took != c.want {
					t.Errorf("left behind after %s (in time: %t), want %s", took, inTime, c.want)
				}
			})
		})
	}
}

func TestASlotWithAnEndedContextWaitsForItsPatienceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(t.Context())
		defer s.close()
		s.cancel(ErrCanceled)
		synctest.Wait() // there was no attempt to hurry
		begun := time.Now()
		left := make(chan time.Duration, 1)
		r := newRun(job.Job{Timeout: core.Duration(time.Hour)}, task.Task{}, io.Discard, io.Discard, io.Discard)
		s.execute(run(func(context.Context) { time.Sleep(2 * time.Hour) }), r, time.Now(), time.Minute,
			func(job.Finish, error, time.Time, bool) { left <- time.Since(begun) }, func(job.Finish) {})
		if took := <-left; took != time.Minute {
			t.Errorf("left behind after %s, want a minute", took)
		}
	})
}

func TestATimerOfAnEarlierAttemptEndsNoLaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(t.Context())
		defer s.close()
		if _, left := inSlot(s, time.Minute, time.Minute, func(context.Context) { s.overdue() }); left {
			t.Error("left behind")
		}
	})
}

func TestATimerThatRingsForAnAttemptBeforeIsSetForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(t.Context())
		defer s.close()
		inSlot(s, time.Minute, time.Minute, func(context.Context) { time.Sleep(30 * time.Second) })
		begun := time.Now()
		left := make(chan time.Duration, 1)
		r := newRun(job.Job{Timeout: core.Duration(10 * time.Minute)}, task.Task{}, io.Discard, io.Discard, io.Discard)
		s.execute(run(func(context.Context) { time.Sleep(time.Hour) }), r, begun, time.Minute,
			func(job.Finish, error, time.Time, bool) { left <- time.Since(begun) }, func(job.Finish) {})
		if took := <-left; took != 11*time.Minute {
			t.Errorf("left behind after %s, want 11 minutes", took)
		}
		if _, late := inSlot(s, time.Minute, time.Minute, func(context.Context) { time.Sleep(30 * time.Second) }); late {
			t.Error("one that ended in time was left behind")
		}
	})
}

// Overtime has its own timeout, and all other ends of the attempt end it too.
func TestOvertimeIsBesideTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		before, takes time.Duration // duration of the task and of the overtime
		cancel        bool
		cause         error // expected cause of the attempt
		ended         error // expected cause of the overtime
		left          bool
	}{
		"within the timeout": {before: time.Minute, takes: time.Minute},
		"beyond it":          {before: 9 * time.Minute, takes: 30 * time.Minute},
		"over its own":       {before: 9 * time.Minute, takes: 61 * time.Minute, ended: context.DeadlineExceeded},
		"and never ending":   {before: 9 * time.Minute, takes: 63 * time.Minute, ended: context.DeadlineExceeded, left: true},
		"canceled":           {before: 9 * time.Minute, takes: 30 * time.Minute, cancel: true, cause: ErrCanceled, ended: context.Canceled, left: true},
		"after the timeout":  {before: 10*time.Minute + time.Second, takes: time.Second, cause: ErrTimeout, ended: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlot(t.Context())
				defer s.close()
				r := newRun(job.Job{Timeout: core.Duration(10 * time.Minute)}, task.Task{}, io.Discard, io.Discard, io.Discard)
				var ended, cause error
				left, answered := false, make(chan struct{})
				s.execute(run(func(ctx context.Context) {
					time.Sleep(c.before)
					over, stop := r.Overtime(ctx, time.Hour)
					defer stop()
					if c.cancel {
						s.cancel(ErrCanceled)
					}
					time.Sleep(c.takes)
					ended = over.Err()
				}), r, time.Now(), time.Minute+time.Second, func(_ job.Finish, why error, _ time.Time, behind bool) { cause, left = why, behind; close(answered) }, func(job.Finish) {})
				<-answered
				if !errors.Is(cause, c.cause) || !errors.Is(ended, c.ended) || left != c.left {
					t.Errorf("ended by %v, the overtime by %v, left behind: %t", cause, ended, left)
				}
			})
		})
	}
}
