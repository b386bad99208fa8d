package lifecycle_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/lifecycle"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestOneRunsAtATimeAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := lifecycle.New("test", func(ctx context.Context) error { runs++; <-ctx.Done(); return nil })
		for range 3 {
			if err := s.Start(t.Context()); err != nil || !s.IsRunning() {
				t.Fatal(err)
			}
			if err := s.Start(t.Context()); core.CodeOf(err) != core.Conflict {
				t.Error(err)
			}
			for range 2 {
				if err := s.Stop(t.Context()); err != nil || s.IsRunning() {
					t.Error(err)
				}
			}
		}
		if runs != 3 {
			t.Error(runs)
		}
	})
}

func TestStopBeforeStartDoesNothing(t *testing.T) {
	s := lifecycle.New("test", nil)
	if err := s.Stop(t.Context()); err != nil || s.IsRunning() || s.Ended() != nil {
		t.Error(err)
	}
}

func TestStopIsBoundedAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		s := lifecycle.New("test", func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Minute); return boom })
		_ = s.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := s.Start(t.Context()); core.CodeOf(err) != core.Conflict {
			t.Error("started while it stops:", err)
		}
		<-s.Ended()
		if err := s.Stop(t.Context()); !errors.Is(err, boom) {
			t.Error(err)
		}
	})
}

func TestAServiceEndsWithTheContextOfStartOrByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := lifecycle.New("test", func(ctx context.Context) error { <-ctx.Done(); return nil })
		_ = s.Start(ctx)
		cancel()
		<-s.Ended()
		if s.IsRunning() {
			t.Error("runs on")
		}
		if err := s.Start(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		short := lifecycle.New("short", func(context.Context) error { return nil })
		_ = short.Start(t.Context())
		<-short.Ended()
		if short.IsRunning() || short.Stop(t.Context()) != nil {
			t.Error("runs on")
		}
	})
}

func TestManyCallersDoNoHarm(t *testing.T) {
	var running atomic.Int32
	s := lifecycle.New("test", func(ctx context.Context) error {
		if running.Add(1) != 1 {
			t.Error("two at a time")
		}
		<-ctx.Done()
		running.Add(-1)
		return nil
	})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				_ = s.Start(t.Context())
				_ = s.IsRunning()
				_ = s.Stop(t.Context())
			}
		})
	}
	callers.Wait()
	_ = s.Stop(t.Context())
}
