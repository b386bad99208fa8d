package define

import (
	"fmt"

	"github.com/belfry-run/belfry/view"
)

// Changes returns how many definitions a plan changes.
func Changes(a view.Applied) int {
	n := 0
	for _, ch := range a.Changes {
		if ch.Action != view.ActionKeep {
			n++
		}
	}
	return n
}

// PlanSummary returns a plan in one line.
func PlanSummary(a view.Applied) string {
	n := map[view.Action]int{}
	for _, ch := range a.Changes {
		n[ch.Action]++
	}
	if Changes(a) == 0 {
		return fmt.Sprintf("no change, %d as they should be", n[view.ActionKeep])
	}
	return fmt.Sprintf("%d to create, %d to update, %d to delete, %d as they should be",
		n[view.ActionCreate], n[view.ActionUpdate], n[view.ActionDelete], n[view.ActionKeep])
}
