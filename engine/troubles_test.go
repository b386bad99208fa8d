package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
)

// away is a store that fails while an error is set.
type away struct{ err *atomic.Pointer[error] }

func (a away) fail() error {
	if err := a.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (a away) FireDue(context.Context) (job.Fired, error)        { return job.Fired{}, a.fail() }
func (a away) Promote(context.Context) (job.Promoted, error)     { return job.Promoted{}, a.fail() }
func (a away) ReleaseLost(context.Context) (job.Released, error) { return job.Released{}, a.fail() }
func (a away) Refill(context.Context) (bool, error)              { return false, a.fail() }
func (a away) FollowClock(context.Context) error                 { return a.fail() }
func (a away) Prune(context.Context) (bool, error)               { return false, a.fail() }
func (a away) Woken() <-chan struct{}                            { return nil }

// A database outage of an hour does not fill the log, and its end is logged.
func TestAReasonThatStopsAllLoopsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logged := func(part string) int { return strings.Count(log.String(), part) }
		store := away{new(atomic.Pointer[error])}
		e, err := engine.New(engine.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		stop := loop(t, e.Run)
		defer stop()
		for _, reason := range []string{"is away", "starts up", "is away"} {
			err := errors.New(reason)
			store.err.Store(&err)
			time.Sleep(20 * time.Minute)
		}
		synctest.Wait()
		if a, s, all := logged("is away"), logged("starts up"), logged("level=WARN"); a != 1 || s != 1 || all != 2 {
			t.Errorf("reasons were logged %d and %d times with %d warnings, want 1, 1 and 2:\n%s", a, s, all, log.String())
		}
		store.err.Store(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := logged("engine loops work again"); n != 1 {
			t.Errorf("the recovery was logged %d times, want once:\n%s", n, log.String())
		}
		err = errors.New("is away")
		store.err.Store(&err)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := logged("is away"); n != 2 {
			t.Errorf("the reason was logged %d times after the next outage, want 2:\n%s", n, log.String())
		}
	})
}
