package workflow

import (
	"testing"

	"github.com/belfry-run/belfry/task"
)

// The next step of a run is the answer that it waits for.
func TestNextStepIsTheAnswer(t *testing.T) {
	s := Status{Run: Run{JobID: 7, Steps: []Step{{Name: "ask", State: Running}, {Name: "pay", State: Running}}}}
	s.Plan.Workflow.Steps = []task.Step{{Name: "ask", Approval: "Sure?"}, {Name: "pay", Signal: "paid"}}
	if got := s.Next(); got != "belfry workflow show 7" {
		t.Error(got)
	}
	s.Run.Steps[1].State = Waiting
	if got := s.Next(); got != "belfry workflow signal 7 paid" {
		t.Error(got)
	}
	s.Run.Steps[0].State = Waiting
	if got := s.Next(); got != "belfry workflow approve 7 ask" {
		t.Error(got)
	}
}
