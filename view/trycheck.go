package view

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// PagePreview is the result of a page check, with the effect of its settings.
type PagePreview struct {
	task.CheckResult
	First   []string      `json:"first,omitempty" doc:"For kind page: texts of the first elements that the selector finds, before the ignore rules"`
	Removed []PageRemoval `json:"removed,omitempty" doc:"For kind page: what each rule takes out or masks"`
}

// PageRemoval is how much of a page's text one rule removes or masks.
type PageRemoval struct {
	Rule  string `json:"rule" doc:"Such as ignore[0]"`
	Text  string `json:"text" doc:"The rule itself"`
	Count int    `json:"count" doc:"How often it does"`
}

// Trial selects what to try: a check without a monitor, the check of a monitor, or
// an edit of it.
type Trial struct {
	Namespace string     `json:"namespace,omitempty" doc:"Default: the token's namespace, or default"`
	Monitor   string     `json:"monitor,omitempty" doc:"Try the check of this monitor"`
	Check     *task.Task `json:"check,omitempty" doc:"A check as it stands in a monitor; beside monitor it is an edit of that one's, which keeps its secrets as long as it goes to the same place"`
}

// Task returns the check of a trial. own is the check of the monitor that the trial
// names, with its secrets, or the zero value.
func (t Trial) Task(own task.Task) (task.Task, error) {
	if t.Monitor == "" && t.Check == nil {
		return task.Task{}, core.InvalidField("check", "", "is missing", "give a check, the name of a monitor, or both: then the check is an edit of the monitor's")
	}
	tk := own
	if t.Check != nil {
		m := monitor.Monitor{Namespace: t.Namespace, Name: "trial", Check: t.Check.KeepSecrets(own)}.WithDefaults()
		if err := m.Validate(time.Time{}); err != nil {
			return tk, err
		}
		var p core.Problems
		p.Nest("check", m.Check.CheckSecrets())
		if err := p.Err("trial"); err != nil {
			return tk, err
		}
		tk = m.Task()
	}
	if tk.Kind == task.KindCommand || tk.Kind == task.KindFunc {
		return tk, core.InvalidField("check.kind", string(tk.Kind), "cannot be tried", "only what looks at a target over the network can; a monitor's command runs with: belfry monitor check NAME")
	}
	return tk, nil
}

// Tried is the result of a trial.
type Tried struct {
	PagePreview
	Started time.Time `json:"started" doc:"When it was looked at"`
}
