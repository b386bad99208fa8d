package workflow

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Retry makes a run ready to go on: steps that succeeded keep their success, and those that did not are begun again, as is all
// of cleanup. The condition of a step that was skipped is judged again where it may have another answer: behind a step that is
// begun again, or with an edited input. From a step on, that step and all behind it are begun again. It answers the steps of
// which nothing is kept, and those of which the items are kept that succeeded: lists whose needs are not begun again, with an
// input that was not edited.
func (r *Run) Retry(p Plan, edited bool, now time.Time) (all, rest []int) {
	redone := map[int]bool{}
	from := p.Workflow.Find(r.From)
	if from >= 0 {
		redone = p.Workflow.After(from)
	}
	for i, s := range r.Steps {
		redone[i] = redone[i] || p.Workflow.Steps[i].Cleanup || s.State != OK && (s.State != Skipped || s.Blocked || edited)
	}
	behind := make([]bool, len(r.Steps)) // a step that is begun again, before the skipped ones among them are added
	for i := range r.Steps {
		for name := range p.Workflow.Before(i) {
			behind[i] = behind[i] || redone[p.Workflow.Find(name)]
		}
	}
	for i, s := range r.Steps {
		redone[i] = redone[i] || behind[i] && s.State == Skipped
		if !redone[i] {
			continue
		}
		step := p.Workflow.Steps[i]
		if behind[i] || edited || step.Cleanup || i == from || s.State == Skipped || s.State == OK || !step.Many() || s.Total == 0 {
			all = append(all, i)
		} else {
			rest = append(rest, i)
		}
	}
	for _, i := range all {
		r.Steps[i] = Step{Name: r.Steps[i].Name, State: Pending}
	}
	r.Retries++
	r.From, r.Stop, r.EndedAt, r.CleanupAt, r.Deadline = "", nil, time.Time{}, time.Time{}, now.Add(p.Timeout.D())
	return all, rest
}

// RetryItems begins the items of a step again that did not succeed.
func (r *Run) RetryItems(i int, items []int, kept int, now time.Time) {
	r.Steps[i] = Step{Name: r.Steps[i].Name, State: Running, Since: now, Total: len(items), Again: items, Kept: kept}
}

// Output is the default output of a workflow's job.
type Output struct {
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Output counts the steps.
func (r Run) Output() (out Output) {
	for _, s := range r.Steps {
		switch s.State {
		case OK:
			out.OK++
		case Failed, Canceled:
			out.Failed++
		case Skipped:
			out.Skipped++
		}
	}
	return out
}

// End is how the job of a workflow ends when all steps have ended.
func (r Run) End(p Plan) job.Settlement {
	s := job.Settlement{State: job.Succeeded}
	var failed []string
	for i, step := range r.Steps {
		if (step.State == Failed || step.State == Canceled) && p.Workflow.Steps[i].OnFailure != task.FailureContinue {
			failed = append(failed, step.Name)
		}
	}
	switch {
	case r.Stop != nil && r.Stop.Reason == schedule.ReasonCanceled:
		s.State, s.Reason, s.Note = job.Canceled, r.Stop.Reason, r.Stop.Note
	case r.Stop != nil:
		s.State, s.Reason, s.Error, s.Failures = job.Failed, r.Stop.Reason, r.Stop.Note, 1
	case len(failed) > 0:
		s.State, s.Reason, s.Failures = job.Failed, schedule.ReasonExhausted, 1
		shown := failed[:min(len(failed), core.MaxLines)]
		s.Error = fmt.Sprintf("%d of %d steps failed: %s", len(failed), len(r.Steps), strings.Join(shown, ", "))
	}
	return s
}

// Next is the command that brings a run on: the answer that a step waits for, or else a look at it.
func (s Status) Next() string {
	for i, step := range s.Run.Steps {
		if step.State != Waiting || !s.Run.EndedAt.IsZero() {
			continue
		}
		if of := s.Plan.Workflow.Steps[i]; of.Approval == "" {
			return fmt.Sprintf("belfry workflow signal %d %s", s.Run.JobID, of.Signal)
		}
		return fmt.Sprintf("belfry workflow approve %d %s", s.Run.JobID, step.Name)
	}
	return fmt.Sprintf("belfry workflow show %d", s.Run.JobID)
}

// Why returns the condition that a run waits for, in a sentence; nothing once it has ended.
func (r Run) Why(p Plan) string {
	if !r.EndedAt.IsZero() {
		return ""
	}
	var parts []string
	for i, s := range r.Steps {
		step, text := p.Workflow.Steps[i], ""
		switch s.State {
		case Running:
			if text = fmt.Sprintf("%s runs as job %d", s.Name, s.JobID); step.Many() {
				text = fmt.Sprintf("%s has ended %d of %d items, and %d are under way", s.Name, s.done(), s.Total, s.Begun-s.done())
			}
		case Sleeping:
			text = fmt.Sprintf("%s sleeps until %s", s.Name, core.Stamp(s.Until))
		case Waiting:
			if text = fmt.Sprintf("%s waits for signal %s until %s", s.Name, step.Signal, core.Stamp(s.Until)); step.Approval != "" {
				text = fmt.Sprintf("%s waits for an approval until %s", s.Name, core.Stamp(s.Until))
			}
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	const shown = 10
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(parts, "; ")
	if r.Stop != nil {
		text = "It stops: " + r.Stop.Note + ". " + text
	}
	return text
}
