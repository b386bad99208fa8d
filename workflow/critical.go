package workflow

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/task"
)

// CriticalPath is the critical path of a run: the indexes of steps that each waited for the one before, up to
// the step that ended last or, of a run under way, has begun first of those that have not ended. Cleanup is left out.
// None: no step has begun.
//
// It is the critical path of the critical path method (J. E. Kelley and M. R. Walker, 1959), on times as they were.
func (r Run) CriticalPath(w task.Workflow) (path []int) {
	began := func(i int) bool { return !r.Steps[i].Since.IsZero() }
	last := -1
	for i := range r.Steps {
		if !began(i) || w.Steps[i].Cleanup {
			continue
		}
		if last < 0 || r.longer(i, last) {
			last = i
		}
	}
	for at := last; at >= 0; {
		path = append(path, at)
		var held time.Time
		next := -1
		for _, need := range w.Steps[at].Needs {
			i := w.Find(need)
			if i >= 0 && began(i) && (next < 0 || r.Steps[i].EndedAt.After(held)) {
				next, held = i, r.Steps[i].EndedAt
			}
		}
		at = next
	}
	slices.Reverse(path)
	return path
}

// longer reports that a run waits for step i rather than for k.
func (r Run) longer(i, k int) bool {
	a, b := r.Steps[i], r.Steps[k]
	switch runs := a.EndedAt.IsZero(); {
	case runs != b.EndedAt.IsZero():
		return runs
	case runs:
		return a.Since.Before(b.Since)
	}
	return a.EndedAt.After(b.EndedAt)
}
