package reach

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestACheckThatTheProcessHadNoTimeFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		starved := func(during func()) (is bool) {
			done := p.watch(time.Now(), func() { is = true })
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
			return func() { p.note(p.beat.Load() + int64(beatEvery+by)) }
		}
		if starved(late(beatLate - 1)) {
			t.Error("starved by little")
		}
		if !starved(late(beatLate + 1)) {
			t.Error("not starved by much")
		}
		time.Sleep(time.Second)
		if starved(func() {}) {
			t.Error("starved by what was before")
		}
	})
}
