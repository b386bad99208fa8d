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

// AgeingText returns the ageing rule of the queue for people, or "" without ageing.
func (q Queue) AgeingText() string {
	if q.Ageing == 0 {
		return ""
	}
	return "one priority for each " + q.Ageing.String() + " that a job waits"
}

// Standing returns the effective priority of a waiting job: its own priority plus its ageing.
func (j Job) Standing() int { return j.Priority + j.Aged }

// Aging is a waiting job in a queue with ageing, and the priorities of the other waiting jobs.
type Aging struct {
	Given, Aged int           // own priority, and by how much it was raised before
	Waited      time.Duration // since it was due, or created if that was later
	Above, Best int           // next higher and highest priority of other waiting jobs
}

// Raise returns by how much the priority of a job is raised: by one for each whole period that it has waited, up to the
// highest waiting priority. The value stays unchanged until it brings the job level with a better one, because a smaller
// raise changes no order. It never falls.
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
