package engine_test

import (
	"time"

	"github.com/belfry-run/belfry/monitor"
)

// cronjob is a program elsewhere that runs every hour and reports its start and its
// end. Some runs fail or hang.
type cronjob struct {
	*world
	calls []call
}

type call struct {
	at   time.Time
	kind monitor.CallKind
}

const (
	beatGrace = 10 * time.Minute
	beatLimit = 30 * time.Minute // of one run
)

// live generates the calls of the program, and returns the expected history.
func (c *cronjob) live() *history {
	h := &history{}
	state, since := "unknown", c.start
	hold := func(at time.Time, next string) {
		h.held = append(h.held, during{since, at, state})
		state, since = next, at
	}
	down := func(at time.Time) {
		hold(at, "down")
		h.incidents = append(h.incidents, outage{from: at})
		delivered, line := at, "down "+stampOf(at)
		if w, under := within(c.windows, at); under {
			delivered = w.to
		}
		h.tell(delivered, line)
	}
	quiet := 4
	for hour := c.start.Add(time.Hour); hour.Before(c.end); hour = hour.Add(time.Hour) {
		start := hour.Add(c.between(time.Second, 5*time.Minute))
		done := start.Add(c.between(time.Minute, 3*time.Minute))
		what := c.rng.IntN(40)
		if quiet--; quiet > 0 || c.busy(hour) {
			what = -1
		} else if w, under := within(c.windows, hour); under && hour.Add(75*time.Minute).Before(w.to) {
			what = 0 // and works again within the window
		}
		switch what {
		case 0: // it fails
			c.calls = append(c.calls, call{start, monitor.CallStart}, call{done, monitor.CallFail})
			down(done)
		case 1: // it hangs
			c.calls = append(c.calls, call{start, monitor.CallStart})
			down(start.Add(beatLimit))
		case 2: // it does not run at all, once or several times
			down(hour.Add(beatGrace))
			hour = hour.Add(time.Duration(c.rng.IntN(5)) * time.Hour)
		case 3: // it is late, but not too late
			late := beatGrace - time.Minute
			c.calls = append(c.calls, call{hour.Add(late), monitor.CallStart}, call{hour.Add(late + time.Minute), monitor.CallSuccess})
		default:
			c.calls = append(c.calls, call{start, monitor.CallStart}, call{done, monitor.CallSuccess})
		}
		if what >= 0 && what < 3 {
			quiet = 8
			continue
		}
		done = c.calls[len(c.calls)-1].at
		if _, away := within(c.aways, done); away {
			continue // the node was stopped, so the call is lost
		}
		switch {
		case state == "down":
			h.end(done, "recovered", done)
			hold(done, "up")
		case state == "unknown":
			hold(done, "up")
		}
	}
	for _, a := range c.aways {
		// The last call before, and the deadline of the next one.
		overdue := a.from.Truncate(time.Hour).Add(time.Hour + beatGrace)
		if overdue.Before(a.to) {
			h.gaps = append(h.gaps, during{overdue, a.to, "unknown"})
		}
	}
	hold(c.end, "")
	return h
}

// busy reports whether other events are near, so that failures stay apart from them.
func (c *cronjob) busy(hour time.Time) bool {
	d := during{from: hour, to: hour.Add(8 * time.Hour)}
	for _, r := range c.reports {
		if d.near(r, r, 2*time.Hour) {
			return true
		}
	}
	for _, a := range c.aways {
		if d.near(a.from, a.to, 2*time.Hour) {
			return true
		}
	}
	return hour.After(c.end.Add(-12 * time.Hour))
}
