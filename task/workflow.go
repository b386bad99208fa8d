package task

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Workflow is a graph of steps. A step begins when the steps that it needs have
// ended. A cycle is the special case in which each step needs the previous one,
// only one run is under way at a time, and members remember their last success
// across runs.
type Workflow struct {
	Steps  []Step            `json:"steps" doc:"At most 200, in any order"`
	Output map[string]string `json:"output,omitempty" doc:"Output of the workflow's job: an expression for each field; default: how many steps succeeded, failed and were skipped"`
}

// Step is a part of a workflow: a task to run, a pause, or a wait for a signal
// or an approval.
type Step struct {
	Name        string            `json:"name" doc:"Unique in the workflow; letters, digits and underscores, so that expressions can name it"`
	Task        string            `json:"task,omitempty" doc:"Name of the task, in the namespace of the workflow; it may be a workflow or a cycle"`
	Sleep       core.Duration     `json:"sleep,omitempty" doc:"Instead of task: a pause, at most 366d"`
	Signal      string            `json:"signal,omitempty" doc:"Instead of task: the name of a signal to wait for; what it brings is the output"`
	Approval    string            `json:"approval,omitempty" doc:"Instead of task: a question that a person approves or rejects"`
	Needs       []string          `json:"needs,omitempty" doc:"Steps that have to end first; default: none"`
	When        string            `json:"when,omitempty" doc:"Expression that must hold, or the step is skipped; one that reads the state or error of a step handles its failure"`
	Input       map[string]string `json:"input,omitempty" doc:"Input of the job: an expression for each field; default: the item with for_each, or else the task's own input"`
	ForEach     string            `json:"for_each,omitempty" doc:"Expression of a list; the task runs once for each item, at most 10,000"`
	Matrix      map[string]string `json:"matrix,omitempty" doc:"Instead of for_each: an expression of a list for each name; the task runs once for each combination, an item with these names"`
	AtOnce      int               `json:"at_once,omitempty" doc:"How many items run at the same time; default: all"`
	Timeout     core.Duration     `json:"timeout,omitempty" doc:"Instead of the task's own; of a signal or approval how long to wait, default: 24h, at most 366d"`
	MaxAttempts int               `json:"max_attempts,omitempty" doc:"Instead of the task's own"`
	OnFailure   OnFailure         `json:"on_failure,omitempty" enum:"fail,continue" doc:"fail: the workflow fails and steps that need this one are skipped; continue: they run as if it had succeeded; default: fail"`
	Cleanup     bool              `json:"cleanup,omitempty" doc:"The step runs when all others have ended, whatever came of them, and after a cancel or timeout too"`
}

// Many reports whether the step runs its task for each item of a list.
func (s Step) Many() bool { return s.ForEach != "" || len(s.Matrix) > 0 }

// FailureFail makes a workflow fail if the step fails.
const FailureFail OnFailure = "fail"

// Limits of a workflow.
const (
	MaxSteps               = 200
	MaxItems               = 10_000 // items of for_each and matrix
	MaxMatrix              = 8      // lists
	MaxWorkflowDepth       = 5      // workflows within workflows
	MaxExpression          = 4 << 10
	MaxStepFields          = 64
	MaxSleep               = core.Duration(366 * 24 * time.Hour)
	DefaultWorkflowTimeout = core.Duration(24 * time.Hour)
	MaxWorkflowTimeout     = core.Duration(400 * 24 * time.Hour)
	DefaultSignalTimeout   = core.Duration(24 * time.Hour)
)

// WithDefaults returns a copy with the defaults of empty fields.
func (w Workflow) WithDefaults() Workflow {
	w.Steps = slices.Clone(w.Steps)
	for i := range w.Steps {
		s := &w.Steps[i]
		s.OnFailure = core.Or(s.OnFailure, FailureFail)
		if s.Waits() {
			s.Timeout = core.Or(s.Timeout, DefaultSignalTimeout)
		}
	}
	return w
}

// Waits reports whether the step waits for a signal or an approval.
func (s Step) Waits() bool { return s.Signal != "" || s.Approval != "" }

// SignalName returns the name of the signal for which the step waits. For an
// approval it is the name of the step.
func (s Step) SignalName() string {
	if s.Approval != "" {
		return s.Name
	}
	return s.Signal
}

// Find returns the index of a step, or -1.
func (w Workflow) Find(name string) int {
	return slices.IndexFunc(w.Steps, func(s Step) bool { return s.Name == name })
}

// Before returns the steps that have always ended when step i begins: those that it
// needs, directly or indirectly, and for cleanup all steps that are not cleanup.
func (w Workflow) Before(i int) map[string]bool {
	before := map[string]bool{}
	var add func(i int)
	add = func(i int) {
		if i < 0 {
			return
		}
		for _, need := range w.Steps[i].Needs {
			if !before[need] {
				before[need] = true
				add(w.Find(need))
			}
		}
	}
	add(i)
	if w.Steps[i].Cleanup {
		for _, s := range w.Steps {
			if !s.Cleanup {
				before[s.Name] = true
			}
		}
	}
	return before
}

// After returns the indexes of step i and of the steps that need it, directly or indirectly.
func (w Workflow) After(i int) map[int]bool {
	after := map[int]bool{}
	for k := range w.Steps {
		if k == i || w.Before(k)[w.Steps[i].Name] {
			after[k] = true
		}
	}
	return after
}

// names returns the names of the steps, in order.
func (w Workflow) names() string {
	list := make([]string, len(w.Steps))
	for i, s := range w.Steps {
		list[i] = s.Name
	}
	return strings.Join(list, ", ")
}

// isStepName reports whether expressions can use a name: order, load_2.
func isStepName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func (w Workflow) validate() error {
	var p core.Problems
	if len(w.Steps) == 0 || len(w.Steps) > MaxSteps {
		p.Addf("steps", fmt.Sprint(len(w.Steps), " entries"), "has not between 1 and %d entries", MaxSteps)
		return p.Err("workflow")
	}
	seen := map[string]bool{}
	for i, s := range w.Steps {
		path := fmt.Sprintf("steps[%d]", i)
		if !isStepName(s.Name) {
			p.Add(path+".name", s.Name, "is not the name of a step", "letters, digits and underscores, not a digit first, at most 64 bytes")
		} else if seen[s.Name] {
			p.Add(path+".name", s.Name, "is in the list twice", "")
		}
		seen[s.Name] = true
		p.Nest(path, s.validate())
	}
	for i, s := range w.Steps {
		w.validateNeeds(&p, fmt.Sprintf("steps[%d].needs", i), s)
		if at := w.Find(s.Signal); s.Signal != "" && at >= 0 && w.Steps[at].Approval != "" {
			p.Add(fmt.Sprintf("steps[%d].signal", i), s.Signal, "is the name of an approval, which is answered by it", "give the signal another name")
		}
	}
	checkExpressions(&p, "output", w.Output)
	if err := p.Err("workflow"); err != nil {
		return err
	}
	if circle := w.circle(); len(circle) > 0 {
		p.Add("steps", strings.Join(circle, " needs "), "need each other in a circle", "take one of these needs away")
	}
	return p.Err("workflow")
}

func (w Workflow) validateNeeds(p *core.Problems, path string, s Step) {
	if len(s.Needs) > MaxSteps {
		p.AtMost(path, len(s.Needs), MaxSteps)
		return
	}
	for k, need := range s.Needs {
		field := fmt.Sprintf("%s[%d]", path, k)
		at := w.Find(need)
		switch {
		case at < 0:
			p.Add(field, need, "is not a step of this workflow", "its steps are "+w.names())
		case slices.Index(s.Needs, need) < k:
			p.Add(field, need, "is in the list twice", "")
		case w.Steps[at].Cleanup && !s.Cleanup:
			p.Add(field, need, "is a cleanup step, which runs after all others", "only cleanup steps can need it")
		}
	}
}

func (s Step) validate() error {
	var p core.Problems
	var does []string
	for what, given := range map[string]bool{"task": s.Task != "", "sleep": s.Sleep != 0, "signal": s.Signal != "", "approval": s.Approval != ""} {
		if given {
			does = append(does, what)
		}
	}
	slices.Sort(does)
	switch {
	case len(does) == 0:
		p.Add("task", "", "is missing", "give one of task, sleep, signal and approval")
	case len(does) > 1:
		p.Add(does[1], "", "cannot stand beside "+does[0], "keep one of them")
	}
	if s.Task != "" {
		core.CheckName(&p, "task", s.Task)
	} else {
		for field, given := range map[string]bool{"input": len(s.Input) > 0, "for_each": s.ForEach != "", "matrix": len(s.Matrix) > 0, "max_attempts": s.MaxAttempts != 0} {
			if given {
				p.Add(field, "", "is for steps that run a task", "")
			}
		}
	}
	if s.Sleep < 0 || s.Sleep > MaxSleep {
		p.Addf("sleep", s.Sleep, "is outside 0s to %s", MaxSleep)
	}
	if s.Signal != "" {
		core.CheckName(&p, "signal", s.Signal)
	}
	if len(s.Approval) > core.MaxDescription {
		p.Addf("approval", s.Approval, "has more than %d bytes", core.MaxDescription)
	}
	longest := MaxTimeout
	if s.Waits() {
		longest = MaxSleep
	}
	switch {
	case s.Timeout != 0 && s.Sleep != 0:
		p.Add("timeout", s.Timeout.String(), "cannot stand beside sleep", "")
	case s.Timeout != 0 && (s.Timeout < MinTimeout || s.Timeout > longest):
		p.Addf("timeout", s.Timeout, "is outside %s to %s", MinTimeout, longest)
	}
	if s.MaxAttempts < 0 || s.MaxAttempts > 100 {
		p.Addf("max_attempts", s.MaxAttempts, "is outside 1 to 100")
	}
	if s.AtOnce < 0 || s.AtOnce > MaxItems {
		p.Addf("at_once", s.AtOnce, "is outside 1 to %d", MaxItems)
	}
	if s.ForEach != "" && len(s.Matrix) > 0 {
		p.Add("matrix", "", "cannot stand beside for_each", "keep one of them")
	}
	p.AtMost("matrix", len(s.Matrix), MaxMatrix)
	if s.AtOnce != 0 && !s.Many() {
		p.Add("at_once", fmt.Sprint(s.AtOnce), "is for steps with for_each or matrix", "")
	}
	if s.OnFailure != FailureFail && s.OnFailure != FailureContinue {
		p.Add("on_failure", string(s.OnFailure), "is not a choice", "one of fail, continue")
	}
	checkExpression(&p, "when", s.When)
	checkExpression(&p, "for_each", s.ForEach)
	checkExpressions(&p, "matrix", s.Matrix)
	checkExpressions(&p, "input", s.Input)
	return p.Err("step")
}

func checkExpression(p *core.Problems, field, text string) {
	if len(text) > MaxExpression {
		p.Addf(field, fmt.Sprint(len(text), " bytes"), "is over the limit of %d bytes", MaxExpression)
	}
}

func checkExpressions(p *core.Problems, field string, texts map[string]string) {
	if len(texts) > MaxStepFields {
		p.AtMost(field, len(texts), MaxStepFields)
		return
	}
	for name, text := range texts {
		if name == "" || len(name) > core.MaxKey {
			p.Add(field, name, "is not the name of a field", "")
		}
		if strings.TrimSpace(text) == "" {
			p.Add(field+"."+name, "", "is empty", "give an expression: a text is written in quotes, such as '\"text\"'")
		}
		checkExpression(p, field+"."+name, text)
	}
}

// circle returns steps that need each other in a circle, with the first one
// repeated at the end.
func (w Workflow) circle() []string {
	const under, done = 1, 2
	seen := map[string]int{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		switch seen[name] {
		case done:
			return nil
		case under:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		}
		seen[name], path = under, append(path, name)
		for _, need := range w.Steps[w.Find(name)].Needs {
			if circle := visit(need); circle != nil {
				return circle
			}
		}
		seen[name], path = done, path[:len(path)-1]
		return nil
	}
	for _, s := range w.Steps {
		if circle := visit(s.Name); circle != nil {
			return circle
		}
	}
	return nil
}

// validateWaits refuses waits that are longer than the timeout of the workflow.
func (w Workflow) validateWaits(p *core.Problems, timeout core.Duration) {
	for i, s := range w.Steps {
		field, wait := "sleep", s.Sleep
		if s.Waits() {
			field, wait = "timeout", s.Timeout
		}
		if (s.Sleep != 0 || s.Waits()) && wait > timeout {
			p.Add(fmt.Sprintf("workflow.steps[%d].%s", i, field), wait.String(), fmt.Sprintf("is longer than the workflow's timeout of %s", timeout), "set timeout of the task, at most 400d")
		}
	}
}

// Part is a reference of a task to another task.
type Part struct {
	Field, Task string
	MaxAttempts int // overrides that of the task; 0: does not
}

// Parts returns the members of a cycle, or the tasks of a workflow's steps.
func (t Task) Parts() (parts []Part) {
	if t.Cycle != nil {
		for i, m := range t.Cycle.Members {
			parts = append(parts, Part{fmt.Sprintf("cycle.members[%d].task", i), m.Task, m.MaxAttempts})
		}
	}
	if t.Workflow != nil {
		for i, s := range t.Workflow.Steps {
			if s.Task != "" {
				parts = append(parts, Part{fmt.Sprintf("workflow.steps[%d].task", i), s.Task, s.MaxAttempts})
			}
		}
	}
	return parts
}
