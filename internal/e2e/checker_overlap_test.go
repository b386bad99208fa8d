//go:build linux || darwin

package e2e

import (
	"github.com/belfry-run/belfry/job"
)

// The effects of a handler cannot be undone, so overlaps are looked for only in the
// lines of the handlers. An attempt lived at least from its first line to its last,
// and the order of lines is the order of events: attempts that overlap here have
// overlapped.
//
// One thing excuses an overlap: the process of the node was frozen, so the node could
// not end its attempts. From the end of the lease, such an attempt may live beside
// its successor until the node learns of the loss. Nothing else excuses an overlap:
// the commands of a killed node die with it, a node that cannot reach the database
// ends them before its lease ends, and a step of the clock takes no job from a live
// worker.

// Marks are lines of the test between those of the handlers, with the name of a node
// in the place of the task.
const (
	markFreeze = "freeze"
	markThaw   = "thaw"
	markLapse  = "lapse"
)

func (l line) mark() bool {
	return l.what == markFreeze || l.what == markThaw || l.what == markLapse
}

// try identifies an attempt.
type try struct{ job, lease int64 }

// tries finds attempts in the record.
func (r record) tries() map[try]job.Attempt {
	all := map[try]job.Attempt{}
	for id, as := range r.attempts {
		for _, a := range as {
			all[try{id, a.Lease}] = a
		}
	}
	return all
}

// excused returns, by session, the line from which a session may have been given up
// without the knowledge of its node.
func excused(r record, history []line) map[string]int {
	all, from, living := r.tries(), map[string]int{}, map[string]string{} // session -> worker
	for i, l := range history {
		switch {
		case l.what == "start":
			if a, ok := all[try{l.job, l.lease}]; ok {
				living[a.Session] = a.Worker
			}
		case l.what == markLapse:
			for session, worker := range living {
				if _, before := from[session]; !before && l.task == worker {
					from[session] = i
				}
			}
		}
	}
	return from
}

// checkOverlap fails if an attempt lives beside a later one of its job, or if a limit
// is exceeded at any moment.
func checkOverlap(v *verdict, r record, history []line) {
	all, from := r.tries(), excused(r, history)
	last := map[try]int{}
	for i, l := range history {
		if !l.mark() {
			last[try{l.job, l.lease}] = i
		}
	}
	free := func(t try, i int) bool {
		a, known := all[t]
		at, lapsed := from[a.Session]
		return known && lapsed && at <= i && a.Outcome == job.OutcomeLost
	}
	newest, alive := map[int64]int64{}, map[string]map[try]bool{}
	for i, l := range history {
		if l.mark() {
			continue
		}
		t := try{l.job, l.lease}
		if l.lease < newest[l.job] && !free(t, i) {
			v.errorf("job %d: %s under lease %d came after lease %d had started", l.job, l.what, l.lease, newest[l.job])
		}
		newest[l.job] = max(newest[l.job], l.lease)
		limit := r.limits[l.task]
		if limit == 0 {
			continue
		}
		if alive[l.task] == nil {
			alive[l.task] = map[try]bool{}
		}
		alive[l.task][t] = true
		n := 0
		for t := range alive[l.task] {
			if !free(t, i) {
				n++
			}
		}
		if l.what == "start" && n > limit {
			v.errorf("line %d: %d of %s at the same time, and %d may be: %v", i, n, l.task, limit, alive[l.task])
		}
		if last[t] == i {
			delete(alive[l.task], t)
		}
	}
}
