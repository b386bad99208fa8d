//go:build linux || darwin

package e2e

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// promises has the answers that clients got.
type promises struct {
	acked    map[string]int64 // key -> job
	keyless  []int64
	canceled map[int64]bool // may have been canceled
}

// checkPromises fails unless every acknowledged job exists once.
func checkPromises(v *verdict, r record, p promises) {
	keys := map[string]int64{}
	for id, j := range r.jobs {
		if j.State == job.Canceled && j.Reason != schedule.ReasonPaused && !p.canceled[id] {
			v.errorf("job %d was canceled: %s %s, and nobody asked for that", id, j.Reason, j.Note)
		}
		if j.Key == "" {
			continue
		}
		if other, twice := keys[j.Key]; twice {
			v.errorf("key %s has jobs %d and %d", j.Key, other, id)
		}
		keys[j.Key] = id
	}
	for key, id := range p.acked {
		if j := r.jobs[id]; j.Key != key || !j.State.Final() || j.State == job.Skipped {
			v.errorf("job %d was acknowledged for %s, and is %q for %q", id, key, j.State, j.Key)
		}
	}
	seen := map[int64]bool{}
	for _, id := range p.keyless {
		if j := r.jobs[id]; seen[id] || j.State != job.Succeeded {
			v.errorf("job %d was acknowledged, and is %q (told of before: %t)", id, j.State, seen[id])
		}
		seen[id] = true
	}
}
