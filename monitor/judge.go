package monitor

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// JudgeContext is what a judgement depends on besides the monitor and its
// state.
type JudgeContext struct {
	// Windows are those that concern the monitor and are under way, and those
	// that begin next. One that has no To is open.
	Windows []ActiveWindow
	// Next is the first nominal time of the monitor's schedule after one. Nil,
	// or a zero answer: there is none.
	Next func(after time.Time) time.Time
	// DependsDown is the monitor that this one depends on and that is down:
	// until it is not, problems here are not told.
	DependsDown string
	// ListeningSince is since when the calls of heartbeats can have come in.
	// Calls that were missed before are a fault of ours alone. Zero: always.
	ListeningSince time.Time
}

// Judge decides what a check that has ended means for its monitor.
//
// A result counts from its nominal time. A check that is not newer than
// the last one, or was begun before the monitor was resumed or pointed
// elsewhere, says nothing: it comes late or twice, and judging it again changes
// nothing.
func Judge(m Monitor, s State, o Observation, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	h.lapse()
	o.At = core.Micro(o.At)
	if o.At.After(s.LastAt) && !o.At.Before(h.s.Floor) && h.s.PausedAt.IsZero() {
		h.look(o)
		h.edge = true
	}
	return h.done()
}

// hearing is a judgement in the making.
type hearing struct {
	m      Monitor
	s      State
	env    JudgeContext
	now    time.Time
	line   stretches
	before []Span
	j      Judgement
	edge   bool // something happened that people may have to be told
}

func hear(m Monitor, s State, env JudgeContext, now time.Time) *hearing {
	s.Verdict = core.Or(s.Verdict, VerdictNew)
	s.Notified = slices.Clone(s.Notified) // the caller keeps its own
	s.CertsWarned = slices.Clone(s.CertsWarned)
	h := &hearing{m: m, s: s, env: env, now: core.Micro(now), line: slices.Clone(s.Tail)}
	h.before = h.line.spans()
	return h
}

// done is the answer. People are told last, of where it all came to.
func (h *hearing) done() Judgement {
	if h.edge && h.s.PausedAt.IsZero() {
		h.tell()
	}
	h.j.Spans = retold(h.before, h.line.spans())
	h.s.Tail = h.line.since(h.settled())
	h.s.WakeAt = h.wakeAt()
	h.j.State, h.j.WakeAt = h.s, h.s.WakeAt
	return h.j
}

// settled is the time up to which nothing of the timeline can change any more.
func (h *hearing) settled() time.Time {
	t := core.Later(h.s.LastSeenAt, h.s.Floor)
	switch h.s.Verdict {
	case VerdictNew, VerdictConfirming:
		return core.Sooner(t, h.s.FirstFailAt)
	case VerdictRecovering:
		return core.Sooner(t, h.s.FirstPassAt)
	}
	return t
}

// look takes a check into account.
func (h *hearing) look(o Observation) {
	o = pageFailure(o)
	s := &h.s
	s.LastAt, s.LastOutcome, s.LastCode, s.LastMessage, s.LastLatency = o.At, o.Outcome, o.Code, o.Message, o.Latency
	if o.Outcome == task.CheckError {
		h.missed()
		return
	}
	h.seen(o.At)
	failed, before := o.Outcome == task.CheckFail, s.Status()
	if failed {
		h.failed(o)
	} else {
		h.passed(o)
		h.page(o)
	}
	h.flap(failed, before != StatusNew && s.Status() != before)
	h.warn(o)
	h.certificate(o)
}

// missed is a check that could not be made. It says nothing of the target.
func (h *hearing) missed() {
	s := &h.s
	s.Errors++
	if s.Errors >= max(h.m.StaleAfter, 1) {
		s.Stale = true
		return
	}
	if h.undecided() {
		h.again()
	}
}

// undecided is whether a check before the next turn could settle something.
func (h *hearing) undecided() bool {
	switch h.s.Verdict {
	case VerdictNew:
		return h.s.Failures > 0
	case VerdictConfirming, VerdictRecovering:
		return true
	}
	return false
}

// seen notes that something was seen, and that nothing was for a while before.
func (h *hearing) seen(at time.Time) {
	s := &h.s
	s.Errors, s.Stale = 0, false
	if !s.SeenUntil.IsZero() && at.After(s.SeenUntil) {
		h.line.gap(s.GapAt, at)
	}
	s.LastSeenAt = at
	s.GapAt, s.SeenUntil = h.reach(at)
}

// reach is how long a check is good for: one may be missing, and two may not.
// From gapAt on nothing is known if they are. Heartbeats are awaited instead.
func (h *hearing) reach(at time.Time) (gapAt, until time.Time) {
	if h.m.Heartbeat != nil {
		return time.Time{}, time.Time{}
	}
	timeout := core.Or(h.m.Check.Timeout, task.DefaultCheckTimeout).D()
	if len(h.m.Rules) == 0 || h.env.Next == nil {
		pace := h.m.pace().D()
		return at.Add(pace), at.Add(2*pace + timeout)
	}
	first := h.env.Next(at)
	if first.IsZero() {
		return at.Add(timeout), at.Add(timeout)
	}
	second := h.env.Next(first)
	return first, core.Later(first, second).Add(timeout)
}

// ObservedUntil is how far the timeline of a monitor can be trusted: an up or
// down that goes on beyond it is not known. A heartbeat is known for as long as
// it is awaited, and what is paused stays paused.
func (m Monitor) ObservedUntil(s State) time.Time {
	if m.Heartbeat != nil || s.SeenUntil.IsZero() {
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return s.SeenUntil
}

func (h *hearing) failed(o Observation) {
	s := &h.s
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
		s.Verdict = VerdictDown // the same outage, whose end was not told
	}
	if s.Verdict == VerdictDown {
		return
	}
	if reached(h.m.Confirm.Failures, h.m.Confirm.For, s.Failures, o.At.Sub(s.FirstFailAt)) {
		h.down(o)
	} else {
		h.again()
	}
}

func (h *hearing) down(o Observation) {
	s := &h.s
	from := core.Later(s.FirstFailAt, s.Floor)
	h.line.hold(from, SpanDown, s.FirstCode)
	s.Verdict, s.Since, s.OutageAt = VerdictDown, from, from
	s.Incident = -1
	h.j.Opened = &Incident{
		Namespace: h.m.Namespace, Monitor: h.m.Name, StartedAt: from, Code: s.FirstCode, Message: s.FirstText,
		LastGoodAt: s.LastGoodAt, Failures: s.Failures, Maintenance: h.line.at(from).Over == SpanMaintenance,
		Snapshot: o.Snapshot, Hops: o.Hops,
	}
}

func (h *hearing) passed(o Observation) {
	s := &h.s
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
		h.up()
	case VerdictConfirming:
		s.Verdict = VerdictUp // a blip: it counts for flapping, and not as downtime
	case VerdictDown:
		s.Verdict = VerdictRecovering
	}
	if s.Verdict != VerdictRecovering {
		return
	}
	if reached(h.m.Recover.Passes, h.m.Recover.For, s.Passes, o.At.Sub(s.FirstPassAt)) {
		h.up()
	} else {
		h.again()
	}
}

func (h *hearing) up() {
	s := &h.s
	h.line.hold(s.FirstPassAt, SpanUp, "")
	s.Verdict, s.Since = VerdictUp, s.FirstPassAt
	h.closeIncident(s.FirstPassAt, "recovered")
}

func (h *hearing) closeIncident(at time.Time, by string) {
	s := &h.s
	if s.Incident == 0 {
		return
	}
	if s.NotifiedIncident == 0 && slices.Contains(s.Notified, alert.NotificationDown) {
		s.NotifiedIncident = s.Incident
	}
	h.j.Closed = &IncidentEnd{ID: s.Incident, At: at, By: by}
	s.Incident = 0
}

// reached is whether a threshold is: of a count, a time, or both.
func reached(count int, span core.Duration, n int, lasted time.Duration) bool {
	return n >= max(count, 1) && lasted >= span.D()
}

// again asks for a check before the next turn.
func (h *hearing) again() {
	if retry := h.m.Confirm.Retry.D(); retry > 0 {
		h.againAt(h.now.Add(retry))
	}
}

func (h *hearing) againAt(at time.Time) {
	if h.env.Next != nil {
		if turn := h.env.Next(h.now); !turn.IsZero() && !at.Before(turn) {
			return
		}
	}
	h.j.AgainAt = core.Sooner(h.j.AgainAt, core.Micro(at))
}

// When turns alone are too many: a target that went down or came up so many
// times in so few checks flaps, until it has not for half as many. Half, or it
// would be steady between two turns that are too many. A target that is checked
// seldom is told each time: its turns are hours apart.
const (
	flapTurns  = 3
	flapChecks = 12
	flapSteady = flapChecks / 2
	flapPace   = core.Duration(5 * time.Minute)
)

// flap counts the last turns, down and up, and weighs the last outcomes, those
// that were never confirmed with them: a target that fails every other check
// flaps, and is never down.
func (h *hearing) flap(failed, turned bool) {
	s, rule := &h.s, h.m.Flap
	s.Recent, s.Turns = s.Recent.With(failed), s.Turns.With(turned)
	if rule.Off {
		s.Flapping = false
		return
	}
	often, share := turned && s.Turns.Among(flapChecks) >= flapTurns, rule.High
	if s.Flapping {
		often, share = s.Turns.Among(flapSteady) > 0, rule.Low
	}
	often = often && len(h.m.Rules) == 0 && h.m.pace() <= flapPace
	s.Flapping = often || share > 0 && s.Recent.Full() && s.Recent.Changes() >= float64(share)
}

// warn compares a latency with what it uses to be. Failed checks have none
// that means anything, and a worker without time to look has not the target's.
//
// A slow check goes into the baseline as if it had taken just what is not slow
// yet. So it is not what is usual at once, and a change that stays becomes
// usual in the end.
func (h *hearing) warn(o Observation) {
	s, rule := &h.s, h.m.Slow
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
