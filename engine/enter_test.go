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

// visited is a store of which a test learns who asks when. Its clock is looked
// at each second, all else at longer intervals.
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

// first lets an engine go on for a while, each pass for a millisecond but those of
// backfills, and answers who began and ended, in their order.
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
		t.Fatalf("%v, want the begin and the end of four passes", order)
	}
	for i := 0; i < len(order); i += 2 {
		if order[i] != order[i+1] {
			t.Errorf("%s began while %s was at it", order[i+1], order[i])
		}
	}
}

func TestALongFirstPassHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	order := first(t, 900*time.Millisecond, func() { time.Sleep(time.Hour) })
	slices.Sort(order)
	if want := []string{"clock", "clock", "fire", "fire", "promote", "promote", "release", "release"}; !slices.Equal(order, want) {
		t.Errorf("%v after less than a second, want %v", order, want)
	}
}

// What nobody waits for is not begun when a node is.
func TestHouseIsKeptALittleLater(t *testing.T) {
	t.Parallel()
	if order := first(t, 1900*time.Millisecond, func() {}); slices.Contains(order, "prune") {
		t.Errorf("retention within two seconds: %v", order)
	}
	if order := first(t, 2500*time.Millisecond, func() {}); !slices.Contains(order, "prune") {
		t.Errorf("no retention within two and a half: %v", order)
	}
}
