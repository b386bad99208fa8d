package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shrink removes parts of a script while it still violates the same promise. It returns the shortest script that it finds
// within that many runs.
func shrink(t *testing.T, s script, p *plant, promise string, runs int) script {
	t.Helper()
	fails := func(s script) bool {
		if runs--; runs < 0 {
			return false
		}
		r := simulate(t, s, p, false)
		return slices.ContainsFunc(r.wrong, func(x string) bool { return strings.HasPrefix(x, promise) })
	}
	for half := s.length / 2; half >= time.Minute; half /= 2 {
		shorter := s
		shorter.length -= half
		shorter.steps = slices.DeleteFunc(slices.Clone(s.steps), func(x step) bool { return x.at >= shorter.length })
		shorter.faults = slices.DeleteFunc(slices.Clone(s.faults), func(x fault) bool { return x.at >= shorter.length })
		if fails(shorter) {
			s = shorter
		}
	}
	s.faults = fewer(s.faults, func(x []fault) bool { c := s; c.faults = x; return fails(c) })
	s.steps = fewer(s.steps, func(x []step) bool { c := s; c.steps = x; return fails(c) })
	s.plans = fewer(s.plans, func(x []int) bool { c := s; c.plans = x; return fails(c) })
	s.faults = fewer(s.faults, func(x []fault) bool { c := s; c.faults = x; return fails(c) })
	return s
}

// fewer removes ever smaller parts of a list while it still fails.
func fewer[T any](all []T, fails func([]T) bool) []T {
	for size := len(all); size > 0; size /= 2 {
		for from := 0; from < len(all); {
			less := slices.Delete(slices.Clone(all), from, min(from+size, len(all)))
			if fails(less) {
				all = less
			} else {
				from += size
			}
		}
	}
	return all
}

// String formats a script for people.
func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s, %d nodes, prefetch %d\n", s.seed, s.length, s.nodes, s.prefetch)
	for _, i := range s.plans {
		fmt.Fprintf(&b, "  schedule %s\n", plans[i].Name)
	}
	for _, f := range s.faults {
		fmt.Fprintf(&b, "  fault %s\n", f)
	}
	for _, x := range s.steps {
		fmt.Fprintf(&b, "  step %s\n", x)
	}
	return b.String()
}
