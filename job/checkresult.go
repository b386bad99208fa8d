package job

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// CheckResult is what the end of an attempt says about the target of its check.
func (s Settlement) CheckResult(kind task.Kind) (m task.CheckResult, seen bool) {
	m.Message, _ = core.CleanText(s.Error, task.MaxCheckMessage)
	byItself := kind == task.KindCommand || kind == task.KindProgram || kind == task.KindFunc
	switch {
	case s.State == Canceled || s.State == Skipped:
		return m, false // it was canceled
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

// LeavesResult reports that what the end of a job's attempt says is kept as a result of its monitor: a target that is
// down is no job that failed.
func (s Settlement) LeavesResult(j Job) bool {
	if j.Trigger != TriggerCheck || j.State != Running || !s.State.Final() {
		return false
	}
	_, seen := s.CheckResult(j.Kind)
	return seen
}
