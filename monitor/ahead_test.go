package monitor

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/task"
)

// A clock that was far ahead leaves a last check in the future. A pause and a resume by the right clock end that.
func TestAMonitorGoesOnAfterAClockFarAhead(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	far := now.Add(400 * 24 * time.Hour)
	m := Monitor{Name: "site"}.WithDefaults()
	check := func(s State, at time.Time, outcome task.CheckOutcome) State {
		return Judge(m, s, Observation{At: at, CheckResult: task.CheckResult{Outcome: outcome}}, JudgeContext{}, at).State
	}
	for _, paused := range []time.Time{now.Add(time.Minute), far.Add(time.Minute)} {
		s := check(check(State{}, now, task.CheckOK), far, task.CheckOK)
		s.Tail = s.Tail[len(s.Tail)-1:]
		if !s.Tail[0].From.Equal(far) {
			t.Fatalf("the timeline ends with %+v", s.Tail[0])
		}
		s = PauseMonitor(m, s, time.Time{}, "ann", "", paused).State
		resumed := ResumeMonitor(m, s, JudgeContext{}, now.Add(2*time.Minute))
		if spans := resumed.Spans; len(spans) != 1 || !spans[0].From.Equal(now.Add(2*time.Minute)) || spans[0].State != SpanUnknown {
			t.Errorf("paused at %s: the timeline is replaced by %v", paused, spans)
		}
		s = resumed.State
		s = check(s, now.Add(3*time.Minute), task.CheckOK)
		if s.Verdict != VerdictUp || !s.LastAt.Equal(now.Add(3*time.Minute)) {
			t.Errorf("paused at %s: %s, last check %s", paused, s.Verdict, s.LastAt)
		}
		for _, span := range s.Tail {
			if span.From.After(now.Add(3 * time.Minute)) {
				t.Errorf("paused at %s: the timeline goes on to %s", paused, span.From)
			}
		}
	}
}
