package condition

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Came is the combined result of a task's conditions and warnings.
type Came struct {
	Results []task.ConditionResult
	Outcome task.CheckOutcome
	Code    task.CheckCode // when the outcome is not ok
	Message string
}

// All evaluates all conditions and warnings of a task, so that each result is
// shown. The text is that of the first worst one: one that cannot be evaluated,
// then a condition that does not hold, then a warning. hide removes secrets from
// shown values.
func All(t task.Task, f *Facts, now time.Time, hide func(string) string) (c Came) {
	c.Outcome = task.CheckOK
	if len(t.Conditions)+len(t.Warnings) == 0 {
		return c
	}
	on := On(f, now)
	for _, list := range []struct {
		what  string
		texts []string
		came  task.CheckOutcome
	}{{"condition", t.Conditions, task.CheckFail}, {"warning", t.Warnings, task.CheckDegraded}} {
		for _, text := range list.texts {
			r := task.ConditionResult{Text: text, Warning: list.came == task.CheckDegraded}
			p, err := Get(t.Kind, text)
			if err != nil {
				// Saved by another version, which accepted it: the fault says
				// nothing about the target.
				r.Error = hide(err.Error())
				c.take(task.CheckError, task.CodeConfig, fmt.Sprintf("%s %s cannot be read: %s", list.what, text, r.Error))
			} else {
				warning := r.Warning
				r = p.Judge(on)
				r.Warning, r.Value, r.Error = warning, hide(r.Value), hide(r.Error)
				if !r.Holds {
					c.take(list.came, task.CodeAssertion, broken(list.what, r))
				}
			}
			c.Results = append(c.Results, r)
		}
	}
	return c
}

var gravity = map[task.CheckOutcome]int{task.CheckDegraded: 1, task.CheckFail: 2, task.CheckError: 3}

func (c *Came) take(outcome task.CheckOutcome, code task.CheckCode, message string) {
	if gravity[outcome] > gravity[c.Outcome] {
		c.Outcome, c.Code, c.Message = outcome, code, message
	}
}

// broken returns the text for a condition that does not hold.
func broken(what string, r task.ConditionResult) string {
	text := what + " " + r.Text + " does not hold"
	if r.Error != "" {
		text += ": " + r.Error
	}
	if r.Value != "" {
		text += " (" + r.Value + ")"
	}
	return text
}
