package workflow

import "time"

// Linked is the question of a link.
type Linked struct {
	RunID     int64     `json:"run_id,omitempty" doc:"Run of a workflow that asks; none: a job does"`
	Workflow  string    `json:"workflow,omitempty"`
	JobID     int64     `json:"job_id,omitempty" doc:"Job that waits for the signal"`
	Task      string    `json:"task,omitempty"`
	Name      string    `json:"name" doc:"Of the signal; for an approval the name of its step"`
	Approval  string    `json:"approval,omitempty" doc:"The question; none: it is a signal"`
	State     State     `json:"state,omitempty" doc:"Of the step"`
	Note      string    `json:"note,omitempty" doc:"Of the answer that was given"`
	Answered  bool      `json:"answered,omitempty" doc:"The job has the signal: no other counts"`
	Late      bool      `json:"late,omitempty" doc:"The job waits for the signal no more"`
	Ended     bool      `json:"ended,omitempty" doc:"The run or the job has ended: nothing can be answered"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Open reports that an answer would be taken or kept.
func (l Linked) Open() bool {
	return !l.Ended && !l.Answered && !l.Late && (l.Approval == "" || !l.State.Final())
}
