package monitor

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Call is a call to the URL of a heartbeat.
type Call struct {
	Kind     CallKind `json:"kind" enum:"start,success,fail,log"`
	ExitCode *int     `json:"exit_code,omitempty" doc:"Of what ran; anything but 0 is a failure"`
	Message  string   `json:"message,omitempty"`
	RunID    string   `json:"run_id,omitempty" doc:"Given with a start and its end, it tells runs apart that overlap"`
}

// CallKind is the kind of a call.
type CallKind string

// The kinds. A log is stored and has no effect on the verdict.
const (
	CallStart   CallKind = "start"
	CallSuccess CallKind = "success"
	CallFail    CallKind = "fail"
	CallLog     CallKind = "log"
)

// Beat decides what a call of a heartbeat means.
//
// A call after its time and grace, before a node noticed that it was missing,
// counts as in time: either side may have been late, and an outage of Belfry must
// not make a heartbeat fail.
func Beat(m Monitor, s State, b Call, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	a.advance()
	switch {
	case b.Kind == CallLog:
	case !a.s.PausedAt.IsZero():
		a.s.LastAt, a.s.LastMessage = core.Later(a.now, s.LastAt), b.Message
	case b.Kind == CallStart:
		heartbeat{a}.applyStart(b)
	default:
		heartbeat{a}.applyEnd(b)
	}
	return a.result()
}

// heartbeat is an assessment of calls of a heartbeat, or of their absence.
type heartbeat struct{ *assessment }

// applyStart records the start of a run. It counts as a call, unless the previous run
// never ended: a program that dies in every run is detected at its next start.
func (h heartbeat) applyStart(b Call) {
	s := &h.s
	if s.StartedAt.IsZero() || s.ExpectAt.IsZero() {
		h.recordNodesGone()
		s.ExpectAt = h.nextExpected()
	}
	s.StartRun(b.RunID, h.now)
}

func (h heartbeat) applyEnd(b Call) {
	s := &h.s
	o := Observation{At: h.now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Message: b.Message}}
	if !o.At.After(s.LastAt) {
		o.At = s.LastAt.Add(time.Microsecond) // two calls at the same instant both count
	}
	if b.Kind == CallFail || b.ExitCode != nil && *b.ExitCode != 0 {
		o.Outcome, o.Code = task.CheckFail, task.CodeReported
		said := "the call said that it failed"
		if b.ExitCode != nil {
			said = fmt.Sprintf("the call said that it ended with exit code %d", *b.ExitCode)
		}
		o.Message = said
		if b.Message != "" {
			o.Message, _ = core.CleanText(said+": "+b.Message, task.MaxCheckMessage)
		}
	}
	if began := s.EndRun(b.RunID); !began.IsZero() {
		o.Latency = core.Duration(max(0, h.now.Sub(began)))
	}
	if s.Verdict == VerdictDown {
		s.DropOverdueRuns(h.m.Heartbeat.MaxRuntime, h.now) // they were not awaited
	}
	h.recordNodesGone()
	s.ExpectAt = h.nextExpected()
	h.apply(o)
	h.notifies = true
}

// maxNoticeDelay is the longest delay with which a live node notices a missing call. A
// longer delay means that no node was running.
const maxNoticeDelay = time.Minute

// recordNodesGone records a gap: no node was running since the call was overdue.
func (h heartbeat) recordNodesGone() {
	if at, _ := h.deadline(); !at.IsZero() && h.now.Sub(at) > maxNoticeDelay {
		h.timeline.markGap(at, h.now)
	}
}

// earlyTolerance is how much too early a call may come and still count as the next
// expected one, because clocks differ.
const earlyTolerance = core.Duration(time.Minute)

// nextExpected returns the time at which the call after one at now is expected.
func (h heartbeat) nextExpected() time.Time {
	next := h.expectedAfter(h.now)
	if len(h.m.Rules) > 0 && !next.IsZero() && next.Sub(h.now) <= min(earlyTolerance, h.grace()).D() {
		return h.expectedAfter(next)
	}
	return next
}

// expectedAfter returns the time of the first expected call after t.
func (h heartbeat) expectedAfter(t time.Time) time.Time {
	switch {
	case len(h.m.Rules) == 0:
		return t.Add(h.m.pace().D())
	case h.env.Next == nil:
		return time.Time{}
	}
	return core.Micro(h.env.Next(t))
}

func (h heartbeat) grace() core.Duration {
	if h.m.Heartbeat == nil {
		return 0
	}
	return h.m.Heartbeat.Grace
}

// deadline returns when a heartbeat fails without a call, and whether the end of a
// run is missing then. A heartbeat that is down has no deadline.
func (h heartbeat) deadline() (at time.Time, run bool) {
	s := &h.s
	if h.m.Heartbeat == nil || s.Verdict == VerdictDown || !s.PausedAt.IsZero() {
		return time.Time{}, false
	}
	if !s.ExpectAt.IsZero() {
		at = s.ExpectAt.Add(h.grace().D())
	}
	if end := s.RunUntil(h.m.Heartbeat.MaxRuntime); !end.IsZero() && (at.IsZero() || end.Before(at)) {
		return end, true
	}
	return at, false
}

// maxOverdue is the most missing calls that are recorded at once.
const maxOverdue = 1000

// recordOverdue records missing calls. They count from the end of their grace.
func (h heartbeat) recordOverdue() {
	if !h.s.PausedAt.IsZero() || h.m.Heartbeat == nil {
		return
	}
	h.postponeLost()
	for range maxOverdue {
		at, run := h.deadline()
		if at.IsZero() || at.After(h.now) {
			return
		}
		h.recordMissing(at, run)
	}
}

func (h heartbeat) recordMissing(at time.Time, run bool) {
	s := &h.s
	o := Observation{At: at, CheckResult: task.CheckResult{Outcome: task.CheckFail, Code: task.CodeMissed}}
	if run {
		o.Code = task.CodeTimeout
		o.Message = fmt.Sprintf("started at %s and has not ended within %s", core.Stamp(s.OldestRun()), h.m.Heartbeat.MaxRuntime)
		s.DropOldestRun()
	} else {
		o.Message = fmt.Sprintf("was to call at %s and did not until %s", core.Stamp(s.ExpectAt), core.Stamp(at))
		s.ExpectAt = h.expectedAfter(s.ExpectAt)
	}
	if !o.At.After(s.LastAt) {
		o.At = s.LastAt.Add(time.Microsecond)
	}
	h.apply(o)
	h.notifies = true
}

// postponeLost postpones calls that were due while no node could receive them: such
// calls were lost, and a run may have ended.
func (h heartbeat) postponeLost() {
	s, since := &h.s, core.Micro(h.env.ListeningSince)
	at, _ := h.deadline()
	if at.IsZero() || !at.Before(since) {
		return
	}
	h.timeline.markGap(at, since)
	if s.ExpectAt.Before(since) && !s.ExpectAt.IsZero() {
		s.ExpectAt = h.expectedAfter(since)
	}
	for at, run := h.deadline(); run && at.Before(since); at, run = h.deadline() {
		s.DropOldestRun()
	}
}

// Reexpect is the counterpart of [schedule.Replan] for a heartbeat: it computes the next expected call with the current time
// zone data. An overdue call stays overdue.
func Reexpect(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	a := newAssessment(m, s, env, now)
	a.advance()
	if m.Heartbeat != nil && len(m.Rules) > 0 && a.s.ExpectAt.After(now) {
		a.s.ExpectAt = heartbeat{a}.expectedAfter(a.now)
	}
	return a.result()
}
