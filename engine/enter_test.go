package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
)

// visited is a store that records the passes of loops. Its clock is followed every
// second; other passes have longer intervals.
type visited struct {
	refill func()
	came   chan<- string
	takes  time.Duration
}

func (v visited) come(who string) {
	v.came <- who
	time.Sleep(v.takes)
	v.came <- who
}

func (v visited) FireDue(context.Context) (job.Fired, error) {
	v.come("fire")
	return job.Fired{}, nil
}
func (v visited) Promote(context.Context) (job.Promoted, error) {
	v.come("promote")
	return job.Promoted{}, nil
}
func (v visited) ReleaseLost(context.Context) (job.Released, error) {
	v.come("release")
	return job.Released{}, nil
}
func (v visited) Refill(context.Context) (bool, error) { v.refill(); return false, nil }
func (v visited) FollowClock(context.Context) error    { v.come("clock"); return nil }
func (v visited) Prune(context.Context) (bool, error)  { v.come("prune"); return false, nil }
func (v visited) Woken() <-chan struct{}               { return nil }

// first runs an engine for a while. Each pass takes a millisecond, except that of
// backfills, which calls refill. It returns the starts and ends of passes in order.
func first(t *testing.T, while time.Duration, refill func()) (order []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		came := make(chan string, 100)
		e, err := engine.New(engine.Options{Store: visited{refill, came, time.Millisecond}, Release: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		stop := loop(t, e.Run)
		time.Sleep(while)
		synctest.Wait()
		for len(came) > 0 {
			order = append(order, <-came)
		}
		stop()
	})
	return order
}

func TestLoopsBeginOneAfterTheOther(t *testing.T) {
	t.Parallel()
	order := first(t, 900*time.Millisecond, func() {})
	if len(order) != 8 {
		t.Fatalf("starts and ends of passes are %v, want those of four passes", order)
	}
	for i := 0; i < len(order); i += 2 {
		if order[i] != order[i+1] {
			t.Errorf("loop %s began during the pass of %s", order[i+1], order[i])
		}
	}
}

func TestALongFirstPassDelaysNoOtherLoop(t *testing.T) {
	t.Parallel()
	order := first(t, 900*time.Millisecond, func() { time.Sleep(time.Hour) })
	slices.Sort(order)
	if want := []string{"clock", "clock", "fire", "fire", "promote", "promote", "release", "release"}; !slices.Equal(order, want) {
		t.Errorf("starts and ends of passes within a second are %v, want %v", order, want)
	}
}

// Housekeeping does not begin with the start of a node.
func TestHousekeepingStartsTwoSecondsAfterTheNode(t *testing.T) {
	t.Parallel()
	if order := first(t, 1900*time.Millisecond, func() {}); slices.Contains(order, "prune") {
		t.Errorf("passes within 1.9s are %v, want none of prune", order)
	}
	if order := first(t, 2500*time.Millisecond, func() {}); !slices.Contains(order, "prune") {
		t.Errorf("passes within 2.5s are %v, want one of prune", order)
	}
}
