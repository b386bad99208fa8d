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

// A handler that never reads its context ends with the same cause as one that reads
// it from the start.
func TestAnUnreadContextHasItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *slot, lose context.CancelCauseFunc) // the handler, which takes at most a minute
		want error
	}{
		"it has not":            {func(*slot, context.CancelCauseFunc) { time.Sleep(59 * time.Second) }, nil},
		"its time":              {func(*slot, context.CancelCauseFunc) { time.Sleep(61 * time.Second) }, ErrTimeout},
		"a cancel":              {func(s *slot, _ context.CancelCauseFunc) { s.cancel(ErrCanceled); time.Sleep(time.Second) }, ErrCanceled},
		"a cancel, at the end":  {func(s *slot, _ context.CancelCauseFunc) { s.cancel(ErrCanceled) }, ErrCanceled},
		"a cancel before time":  {func(s *slot, _ context.CancelCauseFunc) { s.cancel(ErrCanceled); time.Sleep(2 * time.Minute) }, ErrCanceled},
		"its time, then cancel": {func(s *slot, _ context.CancelCauseFunc) { time.Sleep(2 * time.Minute); s.cancel(ErrCanceled) }, ErrTimeout},
		"its time, then a while": {func(s *slot, _ context.CancelCauseFunc) {
			time.Sleep(2 * time.Minute)
			s.cancel(ErrCanceled)
			time.Sleep(time.Second)
		}, ErrTimeout},
		"the session":            {func(_ *slot, lose context.CancelCauseFunc) { lose(ErrLost) }, ErrLost},
		"its time, then session": {func(_ *slot, lose context.CancelCauseFunc) { time.Sleep(2 * time.Minute); lose(ErrLost) }, ErrTimeout},
	} {
		for _, looks := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, lose := context.WithCancelCause(t.Context())
					s := newSlot(parent)
					defer s.close()
					cause, left := inSlot(s, time.Minute, time.Hour, func(ctx context.Context) {
						if looks {
							_ = ctx.Done()
						}
						c.do(s, lose)
					})
					if !errors.Is(cause, c.want) || cause != nil && c.want == nil || left {
						t.Errorf("ended by %v (looked: %t, left behind: %t), want %v", cause, looks, left, c.want)
					}
				})
			})
		}
	}
}

func TestTheContextOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := newSlot(context.WithValue(t.Context(), key{}, "of the parent"))
		defer s.close()
		begun := time.Now()
		var kept, child context.Context
		r := newRun(job.Job{ID: 7, Timeout: core.Duration(time.Minute)}, task.Task{}, io.Discard, io.Discard, io.Discard)
		answer := func(job.Finish, error, time.Time, bool) {}
		s.execute(run(func(ctx context.Context) {
			kept = ctx
			if j, ok := JobFrom(ctx); !ok || j.ID != 7 {
				t.Errorf("job %d, %t", j.ID, ok)
			}
			if s.attempt.made != nil {
				t.Error("a timer was set to tell the job")
			}
			if at, ok := ctx.Deadline(); !ok || !at.Equal(begun.Add(time.Minute)) {
				t.Errorf("ends after %s, %t", at.Sub(begun), ok)
			}
			if v := ctx.Value(key{}); v != "of the parent" {
				t.Errorf("value %v", v)
			}
			var stop context.CancelFunc
			child, stop = context.WithCancel(ctx)
			defer stop()
			<-child.Done()
			if !errors.Is(child.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(child), ErrTimeout) || time.Since(begun) != time.Minute {
				t.Errorf("after %s: %v because of %v", time.Since(begun), child.Err(), context.Cause(child))
			}
		}), r, begun, time.Minute, answer, nil)
		if !errors.Is(kept.Err(), context.DeadlineExceeded) {
			t.Errorf("it has ended and says %v", kept.Err())
		}
		// Goroutines that outlive the handler see its end, whether it read the context before or not.
		for _, looks := range []bool{true, false} {
			s.execute(run(func(ctx context.Context) {
				kept = ctx
				if looks {
					_ = ctx.Done()
				}
			}), r, time.Now(), time.Minute, answer, nil)
			select {
			case <-kept.Done():
			default:
				t.Errorf("goes on behind its handler (looked: %t)", looks)
			}
			if !errors.Is(kept.Err(), context.Canceled) {
				t.Errorf("behind its handler (looked: %t): %v", looks, kept.Err())
			}
		}
	})
}
