package lease

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestALeaseEndsInTwoSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var warned, fell time.Duration
		l := New(begun, 30*time.Second, func() { warned = time.Since(begun) }, func() { fell = time.Since(begun) })
		time.Sleep(20 * time.Second)
		if !l.Extend(begun.Add(10*time.Second)) || !l.Holds() || l.Ended() {
			t.Fatal("a renewal in time does not extend it")
		}
		time.Sleep(13 * time.Second)
		if l.Extend(begun.Add(32 * time.Second)) {
			t.Error("an answer after the end extends it")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if warned != 32*time.Second || fell != 37*time.Second {
			t.Errorf("asked to stop after %s and killed after %s, want 22s and 27s after the renewal that was sent at 10s", warned, fell)
		}
		if l.Holds() || !l.Ended() {
			t.Error("it holds after its end")
		}
	})
}

func TestAStoppedLeaseSendsNoWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Now(), 30*time.Second, func() { t.Error("warned") }, func() { t.Error("fell") })
		time.Sleep(time.Second)
		l.Stop()
		time.Sleep(time.Minute)
	})
}

// The answer that opened the session came after the time at which attempts must
// stop: the lease continues to its end from there.
func TestALeaseMayBeOverWhenItBegins(t *testing.T) {
	t.Parallel()
	for range 200 {
		fell := make(chan struct{})
		l := New(time.Now().Add(-23*time.Millisecond), 30*time.Millisecond, func() {}, func() { close(fell) })
		if l.Holds() {
			t.Fatal("it holds")
		}
		<-fell
	}
}
