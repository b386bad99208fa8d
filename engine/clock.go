package engine

import (
	"context"
	"time"
)

// clock reads the wall and the monotonic clock of one moment.
type clock func() (wall time.Time, mono time.Duration)

func systemClock() clock {
	origin := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(origin)
	}
}

// setBack is how far the wall clock was set back between two readings; zero or
// less when it was not.
func setBack(wall0, wall1 time.Time, mono0, mono1 time.Duration) time.Duration {
	return (mono1 - mono0) - wall1.Sub(wall0)
}

// watchEvery is how often the clocks are compared; noticed is the difference
// that is no slewing any more.
const (
	watchEvery = time.Second
	noticed    = 500 * time.Millisecond
)

// watchClock tells the store when the clock that decides was set back, so that
// delays do not grow by as much. A clock that was set forward needs nothing:
// what it made late is missed runs like any others.
func (e *Engine) watchClock(ctx context.Context, c Clock, read clock) {
	wall, mono := read()
	for ctx.Err() == nil {
		sleep(ctx, watchEvery, nil)
		w, m := read()
		back := setBack(wall, w, mono, m)
		if back < noticed {
			wall, mono = w, m
			continue
		}
		e.opt.Logger.Warn("the clock was set back", "by", back)
		if err := c.ShiftClock(ctx, back); err != nil {
			e.opt.Logger.Warn("delays could not follow the clock yet", "error", err)
			continue // compared with the old reading again, so nothing is forgotten
		}
		wall, mono = w, m
	}
}
