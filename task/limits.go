package task

import (
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
)

// checkLimits adds to p the problems of the limits of a task.
func (t Task) checkLimits(p *core.Problems) {
	if t.Sequence != nil {
		p.Nest("sequence", t.Sequence.Validate())
	}
	if t.Throttle != nil {
		p.Nest("throttle", t.Throttle.Validate())
	}
	if t.Debounce != nil {
		p.Nest("debounce", t.Debounce.Validate())
		if t.Throttle != nil {
			p.Add("debounce", t.Debounce.Text(), "cannot stand beside throttle, which has the first request count", "keep one of them")
		}
	}
	if t.Kind == KindWorkflow && t.Sequence != nil {
		p.Add("sequence", t.Sequence.Key, "cannot stand in a workflow", "a limit with running=1 has its runs take place one at a time")
	}
	if t.Kind == KindCycle && t.Gated() {
		p.Add("limits", strconv.Itoa(len(t.Limits)), "and sequence cannot stand in a cycle, which runs once at a time", "give limits to its members")
	}
	flow.CheckLimits(p, t.Limits)
}

// Gated reports whether a limit or sequence restricts the jobs of the task.
func (t Task) Gated() bool { return len(t.Limits) > 0 || t.Sequence != nil }
