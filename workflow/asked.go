package workflow

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// maxQuestion bounds the question of [Asked], in bytes: a list needs its beginning.
const maxQuestion = 500

// Asked is an approval that a run waits for.
type Asked struct {
	RunID     int64     `json:"run_id"`
	Namespace string    `json:"namespace"`
	Workflow  string    `json:"workflow" doc:"Name of its task"`
	Step      string    `json:"step" doc:"The first of its steps that waits for an approval"`
	Approval  string    `json:"approval" doc:"The question, of which the first 500 bytes"`
	Since     time.Time `json:"since" doc:"When the wait began"`
	Until     time.Time `json:"until" doc:"When the step fails without an answer"`
	More      int       `json:"more,omitempty" doc:"Further steps of this run that wait for an approval"`
}

// Asks returns the first approval that a run waits for, in the order of its steps.
func (r Run) Asks(p Plan) (a Asked, waits bool) {
	for i, s := range r.Steps {
		if s.State != Waiting || p.Workflow.Steps[i].Approval == "" {
			continue
		}
		if waits {
			a.More++
			continue
		}
		waits = true
		a = Asked{RunID: r.JobID, Namespace: r.Namespace, Workflow: r.Workflow, Step: s.Name, Since: s.Since, Until: s.Until}
		a.Approval, _ = core.CleanText(p.Workflow.Steps[i].Approval, maxQuestion)
	}
	return a, waits
}

// Move moves the times by how far the clock was set.
func (a *Asked) Move(by time.Duration) { a.Since, a.Until = a.Since.Add(by), a.Until.Add(by) }
