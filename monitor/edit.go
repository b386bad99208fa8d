package monitor

import (
	"cmp"
	"reflect"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Enroll is the first state of a new monitor: nothing is known, and a heartbeat
// is not awaited until it was called once.
func Enroll(m Monitor, env JudgeContext, now time.Time) Judgement {
	h := hear(m, State{}, env, now)
	h.s.Since, h.s.Floor = h.now, h.now
	h.line.hold(h.now, SpanUnknown, "")
	h.maintain()
	return h.done()
}

// PauseMonitor stops a monitor until a time, or until it is resumed when until
// is zero. Its problems are over for all recipients. Paused again,
// it takes the new end and reason.
func PauseMonitor(m Monitor, s State, until time.Time, by, reason string, now time.Time) Judgement {
	h := hear(m, s, JudgeContext{}, now)
	if h.s.PausedAt.IsZero() {
		h.pause()
	}
	h.s.PausedUntil, h.s.PausedBy, h.s.PausedReason = core.Micro(until), by, reason
	return h.done()
}

func (h *hearing) pause() {
	s := &h.s
	if s.Maintenance != "" {
		h.leaveMaintenance()
	}
	h.unseen()
	h.j.Notifications = append(h.j.Notifications, h.closing("was paused")...)
	h.closeIncident(h.now, "paused")
	h.line.cover(h.now, SpanPaused)
	s.PausedAt, s.Since = h.now, h.now
	s.Notified, s.NotifiedIncident = nil, 0
	s.GapAt, s.SeenUntil = time.Time{}, time.Time{}
}

// unseen notes that nothing was seen any more when something else begins.
func (h *hearing) unseen() {
	if s := &h.s; !s.SeenUntil.IsZero() && h.now.After(s.SeenUntil) {
		h.line.gap(s.GapAt, h.now)
	}
}

// ResumeMonitor ends a pause. The verdict is made anew, so that there is no message
// about a target that is up, and one about a target that is down.
func ResumeMonitor(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	if !h.s.PausedAt.IsZero() {
		end := h.now
		if until := h.s.PausedUntil; !until.IsZero() && until.Before(end) {
			end = until
		}
		h.resume(end)
	}
	h.lapse()
	return h.done()
}

func (h *hearing) resume(at time.Time) {
	s := &h.s
	at = core.Later(at, s.PausedAt)
	s.PausedAt, s.PausedUntil, s.PausedBy, s.PausedReason = time.Time{}, time.Time{}, "", ""
	h.line.cover(at, "")
	h.anew(at)
	if h.m.Heartbeat != nil && !s.LastAt.IsZero() {
		s.ExpectAt = heartbeat{h}.turn(at)
	}
	h.edge = true
}

// anew forgets what is held of the target. Results from before at do not
// count.
func (h *hearing) anew(at time.Time) {
	s := &h.s
	h.line.hold(at, SpanUnknown, "")
	s.Verdict, s.Floor = VerdictNew, at
	if s.PausedAt.IsZero() {
		s.Since = at
	}
	s.Failures, s.Passes, s.Errors = 0, 0, 0
	s.FirstFailAt, s.FirstPassAt, s.FirstCode, s.FirstText, s.OutageAt = time.Time{}, time.Time{}, "", "", time.Time{}
	s.Degraded, s.DegradedRun, s.Flapping, s.Stale, s.Slow, s.SlowRun = false, 0, false, false, false, 0
	s.Recent, s.Turns, s.Notified, s.NotifiedIncident = Recent{}, Recent{}, nil, 0
	s.GapAt, s.SeenUntil = time.Time{}, time.Time{}
	s.StartedAt, s.RunID = time.Time{}, ""
}

// DeleteMonitor is what to tell of a monitor that is being deleted.
func DeleteMonitor(m Monitor, s State, now time.Time) []alert.Notification {
	return hear(m, s, JudgeContext{}, now).closing("was deleted")
}

// closing closes what was sent of problems that last, because checks end here: a pager would ring on.
func (h *hearing) closing(how string) []alert.Notification {
	n := h.notification(alert.NotificationClosed)
	n.Incident, n.Title = cmp.Or(h.s.NotifiedIncident, h.s.Incident), title.Named(h.m.Title, h.m.Name)+" "+how
	return alert.Closing(n, h.s.Notified, h.m.Muted)
}

// EditMonitor decides what an edit changes. One that points the monitor at
// something else begins anew; any other keeps what is known, and new thresholds
// hold from the next check on.
func EditMonitor(m, before Monitor, s State, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	switch {
	case m.Kind() != before.Kind(), !reflect.DeepEqual(m.target(), before.target()):
		h.retarget()
	case !reflect.DeepEqual(m.times(), before.times()):
		h.retime()
	}
	if m.Slow.Off {
		h.s.Slow, h.s.SlowRun = false, 0
	}
	if m.Flap.Off {
		h.s.Flapping = false
	}
	h.lapse()
	h.edge = true
	return h.done()
}

func (h *hearing) retarget() {
	s := &h.s
	h.unseen()
	h.j.Notifications = append(h.j.Notifications, h.closing("was pointed at another target")...)
	h.closeIncident(h.now, "edited")
	h.anew(h.now)
	s.LastAt, s.LastOutcome, s.LastCode, s.LastMessage, s.LastLatency = time.Time{}, "", "", "", 0
	s.LastSeenAt, s.LastGoodAt = time.Time{}, time.Time{}
	s.CertEnd, s.CertWarned, s.CertsWarned = time.Time{}, time.Time{}, nil
	s.Typical, s.ExpectAt = Baseline{}, time.Time{}
	s.BaselineHash = ""
	h.rebase("", "")
}

// retime keeps what was promised under the old times, where it is longer: the
// first check of the new ones may come later than the old ones said.
func (h *hearing) retime() {
	s := &h.s
	switch {
	case h.m.Heartbeat != nil && !s.ExpectAt.IsZero():
		s.ExpectAt = heartbeat{h}.turn(h.now)
	case !s.SeenUntil.IsZero() && !h.now.After(s.SeenUntil):
		gapAt, until := h.reach(h.now)
		s.GapAt, s.SeenUntil = core.Later(s.GapAt, gapAt), core.Later(s.SeenUntil, until)
	}
}

// times is what an edit must leave alone for the cadence to stay.
func (m Monitor) times() any {
	return []any{m.Every, m.Rules, m.Zone, m.Within, m.Blackout}
}

// target is what the monitor looks at, apart from how.
func (m Monitor) target() []any { return m.Check.Target().Same }
