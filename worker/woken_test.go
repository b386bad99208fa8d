package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/lease"
)

// A process that was suspended beyond its lease continues before the timer of the lease fires. In a bubble no timer fires while a
// goroutine runs, so this is the state in between.
func TestAWorkerThatWasSuspendedBeyondItsLeaseStartsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &session{worker: &workerRun{log: slog.New(slog.DiscardHandler)}, held: map[*attemptGroup]bool{}}
		s.lostCtx, s.endLost = context.WithCancelCause(t.Context())
		s.workCtx, s.endWork = context.WithCancelCause(s.lostCtx)
		waiting := &attempt{consumer: &consumer{session: s}}
		s.lease = lease.New(time.Now(), 30*time.Second, s.stopAttempts, s.killAttempts)
		if err := waiting.stopCause(); err != nil {
			t.Fatalf("under its lease: %v", err)
		}
		s.lease.Stop()

		s.lease = lease.New(time.Now().Add(-23*time.Second), 30*time.Second, s.stopAttempts, s.killAttempts)
		defer s.lease.Stop()
		ctx := &attemptContext{parent: s.workCtx, deadline: time.Now().Add(time.Hour), run: &Run{until: s.lease}}
		if ctx.Err() == nil || !errors.Is(ctx.cause(time.Now()), ErrLost) {
			t.Errorf("the context of a running attempt: %v, cause %v", ctx.Err(), ctx.cause(time.Now()))
		}
		select {
		case <-ctx.Done():
		default:
			t.Error("the context has an error, and is not done")
		}

		s.workCtx, s.endWork = context.WithCancelCause(s.lostCtx)
		late := lease.New(time.Now().Add(-23*time.Second), 30*time.Second, s.stopAttempts, s.killAttempts)
		defer late.Stop()
		s.lease = late
		ctx = &attemptContext{parent: s.workCtx, deadline: time.Now().Add(time.Hour), run: &Run{Job: &job.Job{}, until: late}}
		own, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := Step(own, "pay", func(context.Context) (int, error) { t.Error("a step ran"); return 0, nil }); !errors.Is(err, ErrLost) {
			t.Errorf("a step under a context of the handler: %v", err)
		}

		s.workCtx, s.endWork = context.WithCancelCause(s.lostCtx)
		late = lease.New(time.Now().Add(-23*time.Second), 30*time.Second, s.stopAttempts, s.killAttempts)
		defer late.Stop()
		s.lease = late
		if err := waiting.stopCause(); !errors.Is(err, ErrLost) {
			t.Errorf("an attempt that waits may start: %v", err)
		}
	})
}
