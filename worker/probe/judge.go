package probe

import (
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker/probe/condition"
)

// judge says what the task's conditions and warnings come to. All are judged,
// so that a person sees what each was; the first that does not hold is the
// fault.
func (l *look) judge() (f *fault) {
	if len(l.task.Conditions)+len(l.task.Warnings) == 0 {
		return nil
	}
	on := condition.On(&l.facts, time.Now())
	for _, text := range l.task.Conditions {
		r, err := l.judgeOne(on, text, false)
		f = worse(f, broken(r, err, belfry.CheckFail))
	}
	for _, text := range l.task.Warnings {
		r, err := l.judgeOne(on, text, true)
		f = worse(f, broken(r, err, belfry.CheckDegraded))
	}
	return f
}

func (l *look) judgeOne(on *condition.Answer, text string, warning bool) (r belfry.ConditionResult, err error) {
	p, err := condition.Get(l.task.Kind, text)
	if err != nil {
		r = belfry.ConditionResult{Text: text, Error: err.Error()}
	} else {
		r = p.Judge(on)
	}
	r.Warning = warning
	r.Value, r.Error = l.secrets.hide(r.Value), l.secrets.hide(r.Error)
	l.m.Conditions = append(l.m.Conditions, r)
	return r, err
}

// broken is nil for a condition that holds. One that cannot be compiled was
// refused when it was saved, or was saved by another version: it says nothing
// of the target.
func broken(r belfry.ConditionResult, err error, outcome belfry.CheckOutcome) *fault {
	what := map[belfry.CheckOutcome]string{belfry.CheckFail: "condition", belfry.CheckDegraded: "warning"}[outcome]
	switch {
	case err != nil:
		return ours(belfry.CodeConfig, "%s %s cannot be read: %s", what, r.Text, r.Error)
	case r.Holds:
		return nil
	}
	f := &fault{outcome: outcome, code: belfry.CodeAssertion, text: what + " " + r.Text + " does not hold"}
	if r.Error != "" {
		f.text += ": " + r.Error
	}
	if r.Value != "" {
		f.text += " (" + r.Value + ")"
	}
	return f
}

// reads reports whether some condition asks for a variable.
func (l *look) reads(name string) bool {
	for _, list := range [][]string{l.task.Conditions, l.task.Warnings} {
		for _, text := range list {
			if p, err := condition.Get(l.task.Kind, text); err == nil && p.Uses(name) {
				return true
			}
		}
	}
	return false
}
