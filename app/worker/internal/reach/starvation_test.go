package reach

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestACheckThatTheProcessHadNoTimeFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s starvation
		starved := func(during func()) (is bool) {
			done := s.watch(time.Now(), func() { is = true })
			during()
			done()
			synctest.Wait()
			return is
		}
		if starved(func() { time.Sleep(time.Minute) }) {
			t.Error("starved with all the time in the world")
		}
		// The goroutine that wakes is late by so much.
		late := func(by time.Duration) func() {
			return func() { s.note(s.lastWake.Load() + int64(wakeEvery+by)) }
		}
		if starved(late(wakeLate - 1)) {
			t.Error("starved by little")
		}
		if !starved(late(wakeLate + 1)) {
			t.Error("not starved by much")
		}
		time.Sleep(time.Second)
		if starved(func() {}) {
			t.Error("starved by what was before")
		}
	})
}
