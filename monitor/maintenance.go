package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Lapse decides what time alone brings a monitor: the end of a timed pause, the
// edges of maintenance, a heartbeat that did not come. Called early or twice it
// changes nothing, and says when it is to be called.
func Lapse(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	h.lapse()
	heartbeat{h}.overdue()
	return h.done()
}

// lapse brings the state up to now, as far as the monitor itself and its
// windows go.
func (h *hearing) lapse() {
	s := &h.s
	if !s.PausedAt.IsZero() {
		if s.PausedUntil.IsZero() || s.PausedUntil.After(h.now) {
			return
		}
		h.resume(s.PausedUntil)
	}
	h.maintain()
}

// maintain enters and leaves maintenance. Both are dated by the window, however
// late they are noticed.
func (h *hearing) maintain() {
	s := &h.s
	under, is := h.window()
	if s.Maintenance != "" {
		if is && (s.WindowEnd.IsZero() || !under.From.After(s.WindowEnd)) {
			s.Maintenance, s.WindowEnd = under.Name, under.To // it may have been moved, or be another by now
			return
		}
		h.leaveMaintenance()
	}
	if is {
		from := under.From
		if n := len(h.line); n > 0 {
			from = core.Later(from, h.line[n-1].From) // what was before is told already
		}
		h.line.cover(core.Micro(from), SpanMaintenance)
		s.Maintenance, s.WindowEnd, h.edge = under.Name, under.To, true
	}
}

func (h *hearing) leaveMaintenance() {
	end := h.now
	if !h.s.WindowEnd.IsZero() && h.s.WindowEnd.Before(end) {
		end = h.s.WindowEnd
	}
	h.line.cover(core.Micro(end), "")
	h.s.Maintenance, h.s.WindowEnd, h.edge = "", time.Time{}, true
}

// window is the one under way. Several that overlap are as one, with the name
// of the one that it is in already.
func (h *hearing) window() (under ActiveWindow, is bool) {
	for _, w := range h.env.Windows {
		if w.From.After(h.now) || !w.To.IsZero() && !w.To.After(h.now) {
			continue
		}
		if !is {
			under, is = w, true
			continue
		}
		if w.Name == h.s.Maintenance {
			under.Name = w.Name
		}
		if w.From.Before(under.From) {
			under.From = w.From
		}
		if under.To.IsZero() || w.To.IsZero() {
			under.To = time.Time{}
		} else {
			under.To = core.Later(under.To, w.To)
		}
	}
	return under, is
}

// wakeAt is when time alone will change something.
func (h *hearing) wakeAt() time.Time {
	if !h.s.PausedAt.IsZero() {
		return h.s.PausedUntil
	}
	at, _ := heartbeat{h}.deadline()
	if h.s.Maintenance != "" {
		at = core.Sooner(at, h.s.WindowEnd)
	}
	for _, w := range h.env.Windows {
		if w.From.After(h.now) {
			at = core.Sooner(at, w.From)
		} else if w.To.After(h.now) {
			at = core.Sooner(at, w.To)
		}
	}
	return at
}
