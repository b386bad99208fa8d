package monitor

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Call is what came to the URL of a heartbeat.
type Call struct {
	Kind     CallKind `json:"kind" enum:"start,success,fail,log"`
	ExitCode *int     `json:"exit_code,omitempty" doc:"Of what ran; anything but 0 is a failure"`
	Message  string   `json:"message,omitempty"`
	RunID    string   `json:"run_id,omitempty" doc:"Given with a start and its end, it tells runs apart that overlap"`
}

// CallKind is what a call says.
type CallKind string

// The kinds. A log is kept, and says nothing of how it went.
const (
	CallStart   CallKind = "start"
	CallSuccess CallKind = "success"
	CallFail    CallKind = "fail"
	CallLog     CallKind = "log"
)

// Beat decides what a call of a heartbeat means.
//
// A call that comes although its time and grace are over, before anybody
// noticed that, is in time: who was late is not known, and Belfry that was away
// takes no heartbeat for dead.
func Beat(m Monitor, s State, b Call, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	h.lapse()
	switch {
	case b.Kind == CallLog:
	case !h.s.PausedAt.IsZero():
		h.s.LastAt, h.s.LastMessage = core.Later(h.now, s.LastAt), b.Message
	case b.Kind == CallStart:
		heartbeat{h}.started(b)
	default:
		heartbeat{h}.ended(b)
	}
	return h.done()
}

// heartbeat is what a hearing does with the calls of a heartbeat, and without them.
type heartbeat struct{ *hearing }

// started notes a run. It is a call like others, but for a start after one that
// never ended: something that dies in every run is found out at its next turn.
func (h heartbeat) started(b Call) {
	s := &h.s
	if s.StartedAt.IsZero() || s.ExpectAt.IsZero() {
		h.awayUntilNow()
		s.ExpectAt = h.expect()
	}
	s.StartedAt, s.RunID = h.now, b.RunID
}

func (h heartbeat) ended(b Call) {
	s := &h.s
	o := Observation{At: h.now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Message: b.Message}}
	if !o.At.After(s.LastAt) {
		o.At = s.LastAt.Add(time.Microsecond) // two calls at once are two calls
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
	if !s.StartedAt.IsZero() && (b.RunID == "" || s.RunID == "" || b.RunID == s.RunID) {
		o.Latency = core.Duration(max(0, h.now.Sub(s.StartedAt)))
		s.StartedAt, s.RunID = time.Time{}, ""
	}
	h.awayUntilNow()
	s.ExpectAt = h.expect()
	h.look(o)
	h.edge = true
}

// away is how late a call may be noticed as missing while a node lives. A later
// notice means that no node watched.
const away = time.Minute

// awayUntilNow notes that no node watched since the call was overdue.
func (h heartbeat) awayUntilNow() {
	if at, _ := h.deadline(); !at.IsZero() && h.now.Sub(at) > away {
		h.line.gap(at, h.now)
	}
}

// early is how much too early a call may come and still be the one that was
// expected next: clocks differ, and the time between is not worth a call.
const early = core.Duration(time.Minute)

// expect is when the call after one at now is to come.
func (h heartbeat) expect() time.Time {
	next := h.turn(h.now)
	if len(h.m.Rules) > 0 && !next.IsZero() && next.Sub(h.now) <= min(early, h.grace()).D() {
		return h.turn(next)
	}
	return next
}

// turn is the time of the first call after t.
func (h heartbeat) turn(t time.Time) time.Time {
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

// deadline is when a heartbeat counts as failed if no call comes, and what is
// missing then. One that is down is not awaited: it cannot get worse.
func (h heartbeat) deadline() (at time.Time, run bool) {
	s := &h.s
	if h.m.Heartbeat == nil || s.Verdict == VerdictDown || !s.PausedAt.IsZero() {
		return time.Time{}, false
	}
	if !s.ExpectAt.IsZero() {
		at = s.ExpectAt.Add(h.grace().D())
	}
	if limit := h.m.Heartbeat.MaxRuntime; limit > 0 && !s.StartedAt.IsZero() {
		if end := s.StartedAt.Add(limit.D()); at.IsZero() || end.Before(at) {
			return end, true
		}
	}
	return at, false
}

// overdueMost bounds the missing calls that are noticed at once.
const overdueMost = 1000

// overdue notices calls that did not come. They count from the end of their
// grace: until then nothing was wrong.
func (h heartbeat) overdue() {
	if !h.s.PausedAt.IsZero() || h.m.Heartbeat == nil {
		return
	}
	h.unheard()
	for range overdueMost {
		at, run := h.deadline()
		if at.IsZero() || at.After(h.now) {
			return
		}
		h.absent(at, run)
	}
}

func (h heartbeat) absent(at time.Time, run bool) {
	s := &h.s
	o := Observation{At: at, CheckResult: task.CheckResult{Outcome: task.CheckFail, Code: task.CodeMissed}}
	if run {
		o.Code = task.CodeTimeout
		o.Message = fmt.Sprintf("started at %s and has not ended within %s", core.Stamp(s.StartedAt), h.m.Heartbeat.MaxRuntime)
		s.StartedAt, s.RunID = time.Time{}, ""
	} else {
		o.Message = fmt.Sprintf("was to call at %s and did not until %s", core.Stamp(s.ExpectAt), core.Stamp(at))
		s.ExpectAt = h.turn(s.ExpectAt)
	}
	if !o.At.After(s.LastAt) {
		o.At = s.LastAt.Add(time.Microsecond)
	}
	h.look(o)
	h.edge = true
}

// unheard puts off calls that were due while no node could hear them: calls that came
// meanwhile were lost, and a run may have ended.
func (h heartbeat) unheard() {
	s, since := &h.s, core.Micro(h.env.ListeningSince)
	at, run := h.deadline()
	if at.IsZero() || !at.Before(since) {
		return
	}
	h.line.gap(at, since)
	if s.ExpectAt.Before(since) && !s.ExpectAt.IsZero() {
		s.ExpectAt = h.turn(since)
	}
	if run {
		s.StartedAt, s.RunID = time.Time{}, ""
	}
}

// Reexpect is what [schedule.Replan] is for a heartbeat: a call that is still to come is awaited by the clock as it is now. One
// that is overdue already stays so.
func Reexpect(m Monitor, s State, env JudgeContext, now time.Time) Judgement {
	h := hear(m, s, env, now)
	h.lapse()
	if m.Heartbeat != nil && len(m.Rules) > 0 && h.s.ExpectAt.After(now) {
		h.s.ExpectAt = heartbeat{h}.turn(h.now)
	}
	return h.done()
}
