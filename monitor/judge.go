package monitor

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// JudgeContext has the data on which a judgement depends besides the monitor and
// its state.
type JudgeContext struct {
	// Windows are the current and next maintenance windows of the monitor. A
	// window without To is open.
	Windows []ActiveWindow
	// Next returns the first nominal time of the monitor's schedule after an
	// instant, or zero if there is none. It may be nil.
	Next func(after time.Time) time.Time
	// DependsDown is the monitor that is down and on which this one depends. Until
	// it is up, problems of this monitor are not notified.
	DependsDown string
	// ListeningSince is the time since which a node could receive calls of
	// heartbeats. Calls that were missed before may be Belfry's fault. Zero: always.
	ListeningSince time.Time
}

// Judge decides what an ended check means for its monitor.
//
// A result counts from its nominal time. A check has no effect if it is not newer
// than the last one, or began before the monitor was resumed or got another
// target. So a late or repeated result changes nothing.
func Judge(m Monitor, s State, o Observation, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	a.advance()
	o.At = core.Micro(o.At)
	if o.At.After(s.LastAt) && !o.At.Before(a.s.Floor) && a.s.PausedAt.IsZero() {
		a.apply(o)
		a.notifies = true
	}
	return a.result()
}

// assessment is a judgement in progress: the functions of this package apply
// events to its state, and result returns the outcome.
type assessment struct {
	m        Monitor
	s        State
	env      JudgeContext
	now      time.Time
	timeline stretches
	before   []Span
	j        Judgement
	notifies bool // an event may need a notification
}

// newAssessment begins a judgement from a stored state.
func newAssessment(m Monitor, s State, env JudgeContext, now time.Time) *assessment {
	s.Verdict = core.Or(s.Verdict, VerdictNew)
	s.Notified = slices.Clone(s.Notified) // the caller keeps its slice
	s.CertsWarned = slices.Clone(s.CertsWarned)
	a := &assessment{m: m, s: s, env: env, now: core.Micro(now), timeline: slices.Clone(s.Tail)}
	a.before = a.timeline.spans()
	return a
}

// result returns the judgement. Notifications come last, from the final state.
func (a *assessment) result() Judgement {
	if a.notifies && a.s.PausedAt.IsZero() {
		a.notify()
	}
	a.j.Spans = changedSpans(a.before, a.timeline.spans())
	a.s.Tail = a.timeline.since(a.settledUntil())
	a.s.WakeAt = a.wakeAt()
	a.j.State, a.j.WakeAt = a.s, a.s.WakeAt
	return a.j
}

// settledUntil returns the time up to which the timeline is final.
func (a *assessment) settledUntil() time.Time {
	t := core.Later(a.s.LastSeenAt, a.s.Floor)
	switch a.s.Verdict {
	case VerdictNew, VerdictConfirming:
		return core.Sooner(t, a.s.FirstFailAt)
	case VerdictRecovering:
		return core.Sooner(t, a.s.FirstPassAt)
	}
	return t
}

// apply brings a check result into the state.
func (a *assessment) apply(o Observation) {
	o = pageFailure(o)
	s := &a.s
	s.LastAt, s.LastOutcome, s.LastCode, s.LastMessage, s.LastLatency = o.At, o.Outcome, o.Code, o.Message, o.Latency
	if o.Outcome == task.CheckError {
		a.applyError()
		return
	}
	a.recordSeen(o.At)
	failed, before := o.Outcome == task.CheckFail, s.Status()
	if failed {
		a.applyFailure(o)
	} else {
		a.applyPass(o)
		a.applyPage(o)
	}
	a.updateFlapping(failed, before != StatusNew && s.Status() != before)
	a.updateSlow(o)
	a.notifyCertificate(o)
}

// applyError applies a check that could not be made. The verdict on the target does not change.
func (a *assessment) applyError() {
	s := &a.s
	s.Errors++
	if s.Errors >= max(a.m.StaleAfter, 1) {
		s.Stale = true
		return
	}
	if a.undecided() {
		a.requestRetry()
	}
}

// undecided reports whether a check before the next nominal time could decide something.
func (a *assessment) undecided() bool {
	switch a.s.Verdict {
	case VerdictNew:
		return a.s.Failures > 0
	case VerdictConfirming, VerdictRecovering:
		return true
	}
	return false
}

// recordSeen records a check at that time, and a gap before it if there was one.
func (a *assessment) recordSeen(at time.Time) {
	s := &a.s
	s.Errors, s.Stale = 0, false
	if !s.SeenUntil.IsZero() && at.After(s.SeenUntil) {
		a.timeline.markGap(s.GapAt, at)
	}
	s.LastSeenAt = at
	s.GapAt, s.SeenUntil = a.validUntil(at)
}

// validUntil returns how long a check result is valid: until two checks are missing.
// If they are, nothing is known from gapAt on. Heartbeats have a deadline instead.
func (a *assessment) validUntil(at time.Time) (gapAt, until time.Time) {
	if a.m.Heartbeat != nil {
		return time.Time{}, time.Time{}
	}
	timeout := core.Or(a.m.Check.Timeout, task.DefaultCheckTimeout).D()
	if len(a.m.Rules) == 0 || a.env.Next == nil {
		pace := a.m.pace().D()
		return at.Add(pace), at.Add(2*pace + timeout)
	}
	first := a.env.Next(at)
	if first.IsZero() {
		return at.Add(timeout), at.Add(timeout)
	}
	second := a.env.Next(first)
	return first, core.Later(first, second).Add(timeout)
}

// ObservedUntil returns the time up to which the timeline of a monitor is known: an
// up or down beyond it is not. A heartbeat is known until its deadline, and a
// paused monitor stays paused.
func (m Monitor) ObservedUntil(s State) time.Time {
	if m.Heartbeat != nil || s.SeenUntil.IsZero() {
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return s.SeenUntil
}

// applyFailure counts a failed check. Enough failures in a row set the target down.
func (a *assessment) applyFailure(o Observation) {
	s := &a.s
	if s.Failures == 0 {
		s.FirstFailAt, s.FirstCode, s.FirstText = o.At, o.Code, o.Message
	}
	s.Failures++
	s.Passes, s.FirstPassAt = 0, time.Time{}
	s.DegradedRun, s.Degraded = 0, false
	switch s.Verdict {
	case VerdictUp:
		s.Verdict = VerdictConfirming
	case VerdictRecovering:
		s.Verdict = VerdictDown // the same outage; its end was not notified
	}
	if s.Verdict == VerdictDown {
		return
	}
	if reached(a.m.Confirm.Failures, a.m.Confirm.For, s.Failures, o.At.Sub(s.FirstFailAt)) {
		a.setDown(o)
	} else {
		a.requestRetry()
	}
}

// setDown opens an incident that begins at the first failed check.
func (a *assessment) setDown(o Observation) {
	s := &a.s
	from := core.Later(s.FirstFailAt, s.Floor)
	a.timeline.setVerdict(from, SpanDown, s.FirstCode)
	s.Verdict, s.Since, s.OutageAt = VerdictDown, from, from
	s.Incident = -1
	a.j.Opened = &Incident{
		Namespace: a.m.Namespace, Monitor: a.m.Name, StartedAt: from, Code: s.FirstCode, Message: s.FirstText,
		LastGoodAt: s.LastGoodAt, Failures: s.Failures, Maintenance: a.timeline.at(from).Over == SpanMaintenance,
		Snapshot: o.Snapshot, Hops: o.Hops,
	}
}

// applyPass counts a passed check. Enough of them in a row end an outage.
func (a *assessment) applyPass(o Observation) {
	s := &a.s
	if s.Passes == 0 {
		s.FirstPassAt = o.At
	}
	s.Passes++
	s.Failures, s.FirstFailAt = 0, time.Time{}
	s.LastGoodAt = o.At
	s.Degraded = o.Outcome == task.CheckDegraded
	if s.Degraded {
		s.DegradedRun = min(max(s.DegradedRun, 0)+1, 2)
	} else {
		s.DegradedRun = max(min(s.DegradedRun, 0)-1, -2)
	}
	switch s.Verdict {
	case VerdictNew:
		a.setUp()
	case VerdictConfirming:
		s.Verdict = VerdictUp // a blip counts for flapping, not as downtime
	case VerdictDown:
		s.Verdict = VerdictRecovering
	}
	if s.Verdict != VerdictRecovering {
		return
	}
	if reached(a.m.Recover.Passes, a.m.Recover.For, s.Passes, o.At.Sub(s.FirstPassAt)) {
		a.setUp()
	} else {
		a.requestRetry()
	}
}

// setUp closes the incident at the first passed check.
func (a *assessment) setUp() {
	s := &a.s
	a.timeline.setVerdict(s.FirstPassAt, SpanUp, "")
	s.Verdict, s.Since = VerdictUp, s.FirstPassAt
	a.closeIncident(s.FirstPassAt, "recovered")
}

func (a *assessment) closeIncident(at time.Time, by string) {
	s := &a.s
	if s.Incident == 0 {
		return
	}
	if s.NotifiedIncident == 0 && slices.Contains(s.Notified, alert.NotificationDown) {
		s.NotifiedIncident = s.Incident
	}
	a.j.Closed = &IncidentEnd{ID: s.Incident, At: at, By: by}
	s.Incident = 0
}

// reached reports whether a threshold of a count, a time, or both is reached.
func reached(count int, span core.Duration, n int, lasted time.Duration) bool {
	return n >= max(count, 1) && lasted >= span.D()
}

// requestRetry requests a check before the next nominal time.
func (a *assessment) requestRetry() {
	if retry := a.m.Confirm.Retry.D(); retry > 0 {
		a.requestCheckAt(a.now.Add(retry))
	}
}

func (a *assessment) requestCheckAt(at time.Time) {
	if a.env.Next != nil {
		if turn := a.env.Next(a.now); !turn.IsZero() && !at.Before(turn) {
			return
		}
	}
	a.j.AgainAt = core.Sooner(a.j.AgainAt, core.Micro(at))
}

// Thresholds of flapping by changes between down and up: flapChanges changes within
// flapChecks checks. It ends after flapSteady checks without a change: with fewer,
// flapping would end between two such changes. Monitors with an interval over
// flapPace do not flap by this rule, because their changes are hours apart.
const (
	flapChanges = 3
	flapChecks  = 12
	flapSteady  = flapChecks / 2
	flapPace    = core.Duration(5 * time.Minute)
)

// updateFlapping counts the last changes between down and up, and weighs the last outcomes,
// including unconfirmed ones: a target that fails every other check flaps, but is
// never down.
func (a *assessment) updateFlapping(failed, turned bool) {
	s, rule := &a.s, a.m.Flap
	s.Recent, s.Turns = s.Recent.With(failed), s.Turns.With(turned)
	if rule.Off {
		s.Flapping = false
		return
	}
	often, share := turned && s.Turns.Among(flapChecks) >= flapChanges, rule.High
	if s.Flapping {
		often, share = s.Turns.Among(flapSteady) > 0, rule.Low
	}
	often = often && len(a.m.Rules) == 0 && a.m.pace() <= flapPace
	s.Flapping = often || share > 0 && s.Recent.Full() && s.Recent.Changes() >= float64(share)
}

// updateSlow compares a latency with the baseline. It ignores failed checks, and checks
// of a starved worker, whose latency is not that of the target.
//
// A slow check enters the baseline with the limit instead of its latency. So a
// slow check does not raise the baseline at once, and a permanent change becomes
// the new baseline in time.
func (a *assessment) updateSlow(o Observation) {
	s, rule := &a.s, a.m.Slow
	if rule.Off {
		s.Slow, s.SlowRun = false, 0
		return
	}
	if o.Outcome == task.CheckFail || o.Starved || o.Latency <= 0 {
		return
	}
	latency := o.Latency.D()
	if s.Typical.Samples < rule.Samples {
		s.Typical = s.Typical.With(latency)
		return
	}
	limit := max(s.Typical.Limit(rule.Sigma), rule.AtLeast.D())
	slow := latency > limit
	s.Typical = s.Typical.With(min(latency, limit))
	switch {
	case slow && s.Slow, !slow && !s.Slow:
		s.SlowRun = 0
	case slow:
		s.SlowRun++
	default:
		s.SlowRun--
	}
	if checks := max(rule.Checks, 1); s.SlowRun >= checks || -s.SlowRun >= checks {
		s.Slow, s.SlowRun = slow, 0
	}
}
