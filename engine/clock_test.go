package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

type recordedShifts struct {
	shifts []time.Duration
	fail   int
}

func (r *recordedShifts) LocalClock() bool { return true }
func (r *recordedShifts) ShiftClock(_ context.Context, back time.Duration) error {
	if r.fail > 0 {
		r.fail--
		return context.DeadlineExceeded
	}
	r.shifts = append(r.shifts, back)
	return nil
}

func TestAClockSetBackIsNoticedOnceAndNeverForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin := time.Now()
		var set time.Duration
		read := func() (time.Time, time.Duration) { return time.Now().Add(set), time.Since(origin) }
		e, err := New(Options{Store: noStore{}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recordedShifts{fail: 1}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.watchClock(ctx, r, read); close(done) }()
		time.Sleep(10 * time.Second)
		set = -time.Hour
		time.Sleep(10 * time.Second)
		set = time.Hour // forward is nobody's loss
		time.Sleep(10 * time.Second)
		set = time.Hour - 100*time.Millisecond // slewing
		time.Sleep(10 * time.Second)
		cancel()
		<-done
		if len(r.shifts) != 1 || r.shifts[0] != time.Hour {
			t.Fatalf("shifts %v, want one of an hour", r.shifts)
		}
	})
}

type noStore struct{ Store }
