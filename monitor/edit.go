package monitor

import (
	"cmp"
	"reflect"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Enroll returns the first state of a new monitor: nothing is known. A heartbeat
// is not expected before its first call.
func Enroll(m Monitor, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, State{}, env, now)
	a.s.Since, a.s.Floor = a.now, a.now
	a.timeline.setVerdict(a.now, SpanUnknown, "")
	a.updateMaintenance()
	return a.result()
}

// PauseMonitor pauses a monitor until a time, or until it is resumed if until is
// zero. All recipients get the end of its problems. On a paused monitor it sets
// the new end and reason.
func PauseMonitor(m Monitor, s State, until time.Time, by, reason string, now time.Time) Judgement {
	a := newAssessment(m, s, JudgeContext{}, now)
	if a.s.PausedAt.IsZero() {
		a.pause()
	}
	a.s.PausedUntil, a.s.PausedBy, a.s.PausedReason = core.Micro(until), by, reason
	return a.result()
}

func (a *assessment) pause() {
	s := &a.s
	if s.Maintenance != "" {
		a.leaveMaintenance()
	}
	a.recordGap()
	a.j.Notifications = append(a.j.Notifications, a.closingNotifications("was paused")...)
	a.closeIncident(a.now, "paused")
	a.timeline.setOverlay(a.now, SpanPaused)
	s.PausedAt, s.Since = a.now, a.now
	s.Notified, s.NotifiedIncident = nil, 0
	s.GapAt, s.SeenUntil = time.Time{}, time.Time{}
}

// recordGap records a gap if no check was seen up to now.
func (a *assessment) recordGap() {
	if s := &a.s; !s.SeenUntil.IsZero() && a.now.After(s.SeenUntil) {
		a.timeline.markGap(s.GapAt, a.now)
	}
}

// ResumeMonitor ends a pause. The verdict starts anew: a target that is up causes
// no message, and a target that is down causes one.
func ResumeMonitor(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	if !a.s.PausedAt.IsZero() {
		a.resume(core.Sooner(a.now, a.s.PausedUntil))
	}
	a.advance()
	return a.result()
}

func (a *assessment) resume(at time.Time) {
	s := &a.s
	at = core.Later(at, core.Sooner(s.PausedAt, a.now))
	if s.LastAt.After(at) { // by a clock that was ahead: no result would count until then
		s.LastAt, s.LastSeenAt = at, time.Time{}
		a.timeline = nil // entries of times to come are replaced
	}
	s.PausedAt, s.PausedUntil, s.PausedBy, s.PausedReason = time.Time{}, time.Time{}, "", ""
	a.timeline.setOverlay(at, "")
	a.resetVerdict(at)
	if a.m.Heartbeat != nil && !s.LastAt.IsZero() {
		s.ExpectAt = heartbeat{a}.expectedAfter(at)
	}
	a.notifies = true
}

// resetVerdict forgets the verdict on the target. Results from before at do not count.
func (a *assessment) resetVerdict(at time.Time) {
	s := &a.s
	a.timeline.setVerdict(at, SpanUnknown, "")
	s.Verdict, s.Floor = VerdictNew, at
	if s.PausedAt.IsZero() {
		s.Since = at
	}
	s.Failures, s.Passes, s.Errors = 0, 0, 0
	s.FirstFailAt, s.FirstPassAt, s.FirstCode, s.FirstText, s.OutageAt = time.Time{}, time.Time{}, "", "", time.Time{}
	s.Degraded, s.DegradedRun, s.Flapping, s.Stale, s.Slow, s.SlowRun = false, 0, false, false, false, 0
	s.Recent, s.Turns, s.Notified, s.NotifiedIncident = Recent{}, Recent{}, nil, 0
	s.GapAt, s.SeenUntil = time.Time{}, time.Time{}
	s.DropRuns()
}

// DeleteMonitor returns the notifications of a monitor that is being deleted.
func DeleteMonitor(m Monitor, s State, now time.Time) []alert.Notification {
	return newAssessment(m, s, JudgeContext{}, now).closingNotifications("was deleted")
}

// closingNotifications returns the ends of problems that last, because checks end here and a pager would ring on.
func (a *assessment) closingNotifications(how string) []alert.Notification {
	n := a.notification(alert.NotificationClosed)
	n.Incident, n.Title = cmp.Or(a.s.NotifiedIncident, a.s.Incident), title.Named(a.m.Title, a.m.Name)+" "+how
	return alert.Closing(n, a.s.Notified, a.m.Muted)
}

// EditMonitor decides the effect of an edit. If it changes the target, the verdict
// starts anew. Otherwise the state is kept, and new thresholds apply from the next
// check on.
func EditMonitor(m, before Monitor, s State, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	switch {
	case m.Kind() != before.Kind(), !reflect.DeepEqual(m.target(), before.target()):
		a.changeTarget()
	case !reflect.DeepEqual(m.times(), before.times()):
		a.changeTimes()
	}
	if m.Slow.Off {
		a.s.Slow, a.s.SlowRun = false, 0
	}
	if m.Flap.Off {
		a.s.Flapping = false
	}
	a.advance()
	a.notifies = true
	return a.result()
}

func (a *assessment) changeTarget() {
	s := &a.s
	a.recordGap()
	a.j.Notifications = append(a.j.Notifications, a.closingNotifications("was pointed at another target")...)
	a.closeIncident(a.now, "edited")
	a.resetVerdict(a.now)
	s.LastAt, s.LastOutcome, s.LastCode, s.LastMessage, s.LastLatency = time.Time{}, "", "", "", 0
	s.LastSeenAt, s.LastGoodAt = time.Time{}, time.Time{}
	s.CertEnd, s.CertWarned, s.CertsWarned = time.Time{}, time.Time{}, nil
	s.Typical, s.ExpectAt = Baseline{}, time.Time{}
	s.BaselineHash = ""
	a.setBaseline("", "")
}

// changeTimes keeps the limits of the old times if they are later: the first check of
// the new times may come later than the old times allowed.
func (a *assessment) changeTimes() {
	s := &a.s
	switch {
	case a.m.Heartbeat != nil && !s.ExpectAt.IsZero():
		s.ExpectAt = heartbeat{a}.expectedAfter(a.now)
	case !s.SeenUntil.IsZero() && !a.now.After(s.SeenUntil):
		gapAt, until := a.validUntil(a.now)
		s.GapAt, s.SeenUntil = core.Later(s.GapAt, gapAt), core.Later(s.SeenUntil, until)
	}
}

// times returns the fields that decide the cadence.
func (m Monitor) times() any {
	return []any{m.Every, m.Rules, m.Zone, m.Within, m.Blackout}
}

// target returns the fields that identify the target of the monitor.
func (m Monitor) target() []any { return m.Check.Target().Same }
