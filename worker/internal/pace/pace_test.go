package pace

import (
	"testing"
	"time"
)

func TestPaceCountsTheTimeInWhichSomethingRan(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type spell struct {
		waits, runs time.Duration
		ended       int
	}
	for _, c := range []struct {
		name   string
		spells []spell
		ahead  []int // expected value after each spell
	}{
		{"nothing has run", []spell{{waits: 100 * ms}}, []int{0}},
		{"ten a time, each at once, and a server that takes 3 ms", []spell{{3 * ms, 20 * time.Microsecond, 10}, {3 * ms, 20 * time.Microsecond, 60}, {3 * ms, 100 * time.Microsecond, 300}}, []int{50, 325, 1662}},
		{"never more than the most", []spell{{3 * ms, ms, 1000}, {3 * ms, ms, 1000}, {3 * ms, ms, 1000}}, []int{maxAhead, maxAhead, maxAhead}},
		{"waiting is nobody's pace", []spell{{1000 * ms, 50 * ms, 100}, {1000 * ms, 50 * ms, 100}, {1000 * ms, 50 * ms, 100}}, []int{50, 75, 87}},
		{"and does not lower it for a while", []spell{{0, 50 * ms, 100}, {waits: 500 * ms}, {waits: 499 * ms}, {waits: ms}, {0, 50 * ms, 100}}, []int{50, 50, 50, 50, 75}},
		{"but is forgotten", []spell{{0, 50 * ms, 100}, {waits: 999 * ms}, {waits: paceOver}, {0, 50 * ms, 100}}, []int{50, 50, 0, 50}},
		{"slots that are busy for long are not filled ahead", []spell{{0, 5 * ms, 100}, {0, 1000 * ms, 1}, {0, 10_000 * ms, 10}, {0, 10_000 * ms, 10}}, []int{500, 250, 125, 62}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			p := Pace{since: now}
			for i, s := range c.spells {
				now = now.Add(s.waits)
				if s.runs > 0 {
					p.Begin(now)
					now = now.Add(s.runs)
					p.Ended += s.ended
					p.End(now)
				}
				if p.Update(now); p.Ahead() != c.ahead[i] {
					t.Errorf("%d ahead after spell %d, want %d", p.Ahead(), i, c.ahead[i])
				}
			}
		})
	}
}

func TestPaceOfALaneThatNeverRunsDry(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p := Pace{since: now}
	p.Begin(now)
	for range 40 { // updated every 5 ms, while a thousand attempts end per second
		now = now.Add(5 * time.Millisecond)
		p.Ended += 5
		p.Update(now)
	}
	if got := p.Ahead(); got < 49 || got > 50 {
		t.Errorf("%d ahead, want what ends in %s", got, aheadFor)
	}
	if p.Update(now.Add(paceOver / 2)); p.Ended != 0 || !p.since.Equal(now) {
		t.Error("a rate was taken over half the time that it needs")
	}
}
