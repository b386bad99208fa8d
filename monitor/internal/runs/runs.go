// Package runs keeps the runs of a heartbeat that said start and have not ended, also where they overlap.
package runs

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Runs are runs under way: the last started one, and those that started before it under other ids.
type Runs struct {
	StartedAt time.Time    `json:"started_at,omitzero" doc:"Of a run that said start and has not ended"`
	RunID     string       `json:"run_id,omitempty" doc:"Of that run"`
	Earlier   []EarlierRun `json:"earlier_runs,omitempty" doc:"Runs that started before that one under other ids and have not ended; at most 10"`
}

// EarlierRun is a run that started before another.
type EarlierRun struct {
	ID        string    `json:"id" doc:"What its start gave as rid"`
	StartedAt time.Time `json:"started_at"`
}

// maxEarlier bounds the earlier runs. Beyond it the oldest is forgotten.
const maxEarlier = 10

// StartRun adds a run as the last started one. The one before it stays if both have an id. The last start of an id counts.
func (r *Runs) StartRun(id string, now time.Time) {
	r.remove(id)
	if !r.StartedAt.IsZero() && r.RunID != "" && id != "" && r.RunID != id {
		r.Earlier = append(slices.Clone(r.Earlier), EarlierRun{ID: r.RunID, StartedAt: r.StartedAt})
		r.Earlier = r.Earlier[max(0, len(r.Earlier)-maxEarlier):]
	}
	r.StartedAt, r.RunID = now, id
}

// EndRun ends the run with an id and returns its start, or zero if no such run is known. Without an id it is the last
// started one.
func (r *Runs) EndRun(id string) (began time.Time) {
	if at := slices.IndexFunc(r.Earlier, func(e EarlierRun) bool { return e.ID == id }); at >= 0 {
		began = r.Earlier[at].StartedAt
		r.remove(id)
	} else if !r.StartedAt.IsZero() && (id == "" || r.RunID == "" || id == r.RunID) {
		began = r.StartedAt
		r.StartedAt, r.RunID = time.Time{}, ""
	}
	return began
}

// OldestRun returns the start of the run that has been going for the longest time, or zero.
func (r *Runs) OldestRun() time.Time {
	if len(r.Earlier) > 0 {
		return r.Earlier[0].StartedAt
	}
	return r.StartedAt
}

// RunUntil returns when the first run reaches a limit, or zero without a run or a limit.
func (r *Runs) RunUntil(limit core.Duration) time.Time {
	if limit <= 0 || r.OldestRun().IsZero() {
		return time.Time{}
	}
	return r.OldestRun().Add(limit.D())
}

// DropOldestRun forgets the run that has been going for the longest time.
func (r *Runs) DropOldestRun() {
	if len(r.Earlier) > 0 {
		r.remove(r.Earlier[0].ID)
	} else {
		r.StartedAt, r.RunID = time.Time{}, ""
	}
}

// DropOverdueRuns forgets the runs that have reached a limit.
func (r *Runs) DropOverdueRuns(limit core.Duration, now time.Time) {
	for at := r.RunUntil(limit); !at.IsZero() && !at.After(now); at = r.RunUntil(limit) {
		r.DropOldestRun()
	}
}

// DropRuns forgets all runs.
func (r *Runs) DropRuns() { *r = Runs{} }

// remove takes an earlier run out of a copy of the list: states that were copied share it.
func (r *Runs) remove(id string) {
	left := slices.DeleteFunc(slices.Clone(r.Earlier), func(e EarlierRun) bool { return e.ID == id })
	if r.Earlier = left; len(left) == 0 {
		r.Earlier = nil
	}
}
