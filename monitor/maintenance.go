package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Lapse decides the effects of time on a monitor: the end of a timed pause, the
// start and end of maintenance, a missing heartbeat. An early or repeated call
// changes nothing. The judgement has the time of the next call.
func Lapse(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	a.advance()
	heartbeat{a}.recordOverdue()
	return a.result()
}

// advance brings the state up to now, as far as the monitor itself and its windows
// are concerned.
func (a *assessment) advance() {
	s := &a.s
	if !s.PausedAt.IsZero() {
		if s.PausedUntil.IsZero() || s.PausedUntil.After(a.now) {
			return
		}
		a.resume(s.PausedUntil)
	}
	a.updateMaintenance()
}

// updateMaintenance enters and leaves maintenance. Both take the times of the window,
// however late they are noticed.
func (a *assessment) updateMaintenance() {
	s := &a.s
	under, is := a.currentWindow()
	if s.Maintenance != "" {
		if is && (s.WindowEnd.IsZero() || !under.From.After(s.WindowEnd)) {
			s.Maintenance, s.WindowEnd = under.Name, under.To // the window may have been moved or replaced
			return
		}
		a.leaveMaintenance()
	}
	if is {
		from := under.From
		if n := len(a.timeline); n > 0 {
			from = core.Later(from, a.timeline[n-1].From) // the time before has its entries already
		}
		a.timeline.setOverlay(core.Micro(from), SpanMaintenance)
		s.Maintenance, s.WindowEnd, a.notifies = under.Name, under.To, true
	}
}

func (a *assessment) leaveMaintenance() {
	end := a.now
	if !a.s.WindowEnd.IsZero() && a.s.WindowEnd.Before(end) {
		end = a.s.WindowEnd
	}
	a.timeline.setOverlay(core.Micro(end), "")
	a.s.Maintenance, a.s.WindowEnd, a.notifies = "", time.Time{}, true
}

// currentWindow returns the current maintenance window. Overlapping windows count as one,
// with the name of the window in which the monitor is already.
func (a *assessment) currentWindow() (under ActiveWindow, is bool) {
	for _, w := range a.env.Windows {
		if w.From.After(a.now) || !w.To.IsZero() && !w.To.After(a.now) {
			continue
		}
		if !is {
			under, is = w, true
			continue
		}
		if w.Name == a.s.Maintenance {
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

// wakeAt returns when time alone will change the state.
func (a *assessment) wakeAt() time.Time {
	if !a.s.PausedAt.IsZero() {
		return a.s.PausedUntil
	}
	at, _ := heartbeat{a}.deadline()
	if a.s.Maintenance != "" {
		at = core.Sooner(at, a.s.WindowEnd)
	}
	for _, w := range a.env.Windows {
		if w.From.After(a.now) {
			at = core.Sooner(at, w.From)
		} else if w.To.After(a.now) {
			at = core.Sooner(at, w.To)
		}
	}
	return at
}
