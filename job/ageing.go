package job

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Limits of [Queue.Ageing].
const (
	MinAgeing = core.Duration(10 * time.Second)
	MaxAgeing = core.Duration(31 * 24 * time.Hour)
)

func (q Queue) checkAgeing(p *core.Problems) {
	switch {
	case q.Ageing == 0:
	case q.Ageing < MinAgeing || q.Ageing > MaxAgeing:
		p.Add("ageing", q.Ageing.String(), "is outside "+MinAgeing.String()+" to "+MaxAgeing.String(), "such as 10m; 0 is no ageing")
	case q.Name == SystemQueue || q.Name == task.ChecksQueue:
		p.Add("ageing", q.Ageing.String(), "cannot stand in a queue of Belfry's own work", "leave it out")
	}
}

// AgeingText says how its jobs age; empty: they do not.
func (q Queue) AgeingText() string {
	if q.Ageing == 0 {
		return ""
	}
	return "one priority for each " + q.Ageing.String() + " that a job waits"
}

// Standing is the priority that a job has among others that wait: its own, and what it has aged by.
func (j Job) Standing() int { return j.Priority + j.Aged }

// Aging is a job that waits in a queue with ageing, and those that wait with it.
type Aging struct {
	Given, Aged int           // its own priority, and by how many it was raised before
	Waited      time.Duration // since it was due, or made if that was later
	Above, Best int           // the next higher priority of those that wait, and their highest
}

// Raise answers by how many priorities a job is raised: one for each whole period that it has waited, up to the highest that
// waits. It stays as it is until that brings it level with others: what nothing better waits with need not be moved. It never
// falls.
func (a Aging) Raise(period core.Duration) int {
	now := a.Given + a.Aged
	if period <= 0 || a.Waited <= 0 || a.Best <= now {
		return a.Aged
	}
	to := a.Best
	if periods := a.Waited / period.D(); periods < time.Duration(a.Best-a.Given) {
		to = a.Given + int(periods)
	}
	if to < a.Above || to <= now {
		return a.Aged
	}
	return to - a.Given
}
