package workflow

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Four steps that the first run left as the rows say; charge is what failed.
func TestARetryRunsStepsWithPossiblyDifferentEnds(t *testing.T) {
	plan := Plan{Workflow: task.Workflow{Steps: []task.Step{
		{Name: "ask", Task: "t"},
		{Name: "charge", Task: "t", Needs: []string{"ask"}, OnFailure: task.FailureContinue},
		{Name: "thank", Task: "t", Needs: []string{"charge"}},
		{Name: "free", Task: "t", ForEach: "input", Cleanup: true},
	}}}
	skipped := Step{State: Skipped, Reason: "its condition does not hold"}
	list := Step{State: Failed, Total: 3, Begun: 3, OK: 2, Failed: 1}
	cases := map[string]struct {
		ask, charge, thank, free Step
		edited                   bool
		all, rest                []int
	}{
		"what was skipped behind what failed": {ask: Step{State: OK}, charge: Step{State: Failed}, thank: skipped, free: Step{State: OK}, all: []int{1, 2, 3}},
		"not what was skipped before it":      {ask: skipped, charge: Step{State: Failed}, thank: Step{State: OK}, free: Step{State: OK}, all: []int{1, 3}},
		"but with another input":              {ask: skipped, charge: Step{State: Failed}, thank: Step{State: OK}, free: Step{State: OK}, edited: true, all: []int{0, 1, 3}},
		"all items of cleanup":                {ask: Step{State: OK}, charge: Step{State: OK}, thank: Step{State: OK}, free: list, all: []int{3}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := Run{Steps: []Step{c.ask, c.charge, c.thank, c.free}}
			all, rest := r.Retry(plan, c.edited, time.Now())
			if !slices.Equal(all, c.all) || !slices.Equal(rest, c.rest) {
				t.Errorf("it begins all of %v and the rest of %v, want %v and %v", all, rest, c.all, c.rest)
			}
		})
	}
}
