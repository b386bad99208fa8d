package job

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// CheckResult returns what the end of an attempt says about the target of its
// check. seen is false if it says nothing.
func (s Settlement) CheckResult(kind task.Kind) (m task.CheckResult, seen bool) {
	m.Message, _ = core.CleanText(s.Error, task.MaxCheckMessage)
	byItself := kind == task.KindCommand || kind == task.KindProgram || kind == task.KindFunc
	switch {
	case s.State == Canceled || s.State == Skipped:
		return m, false // canceled
	case s.Outcome == OutcomeOK:
		m.Outcome = task.CheckOK
	case s.Outcome == OutcomeLost:
		m.Outcome, m.Code = task.CheckError, task.CodeLost
	case byItself && s.Outcome == OutcomeTimeout:
		m.Outcome, m.Code = task.CheckFail, task.CodeTimeout
	case byItself:
		m.Outcome, m.Code = task.CheckFail, task.CodeReported
	default:
		m.Outcome, m.Code = task.CheckError, task.CodeInternal
	}
	return m, true
}

// LeavesResult reports whether the end of the attempt is recorded as a check result of the monitor. A target that is down
// does not make its job a failed one.
func (s Settlement) LeavesResult(j Job) bool {
	if j.Trigger != TriggerCheck || j.State != Running || !s.State.Final() {
		return false
	}
	_, seen := s.CheckResult(j.Kind)
	return seen
}
