package engine

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// Monitors is a store that keeps monitors.
type Monitors interface {
	LapseMonitors(ctx context.Context) (view.Lapsed, error)
	RollUp(ctx context.Context) (more bool, err error)
}

// rollEvery is the interval between checks for an hour to roll up.
const rollEvery = time.Minute

func (e *Engine) lapse(m Monitors) pass {
	return func(ctx context.Context) (time.Duration, error) {
		begun := time.Now()
		l, err := m.LapseMonitors(ctx)
		return until(l.NextAt, l.Now, begun), err
	}
}

func (e *Engine) rollUp(m Monitors) pass {
	return func(ctx context.Context) (time.Duration, error) {
		more, err := m.RollUp(ctx)
		if more {
			return shortest, err
		}
		return rollEvery, err
	}
}

// Cycles is a store that runs cycles.
type Cycles interface {
	StartCycles(ctx context.Context) (job.Promoted, error)
	EndLateCycles(ctx context.Context) (job.Promoted, error)
}

func (e *Engine) cycles(c Cycles) pass {
	return func(ctx context.Context) (time.Duration, error) {
		begun := time.Now()
		p, err := c.StartCycles(ctx)
		if late := !p.NextAt.IsZero() && !p.NextAt.After(p.Now); err == nil && late {
			if p, err = c.EndLateCycles(ctx); p.Jobs == 0 {
				return clockEvery, err // the clock was set; FollowClock must run first
			}
		}
		if p.Jobs > 0 {
			return shortest, err
		}
		return until(p.NextAt, p.Now, begun), err
	}
}

// Workflows is a store that runs workflows.
type Workflows interface {
	StartWorkflows(ctx context.Context) (job.Promoted, error)
	WakeWorkflows(ctx context.Context) (job.Promoted, error)
}

func (e *Engine) workflows(w Workflows) pass {
	var rested time.Time // the end of a rest, which nothing cuts short
	return func(ctx context.Context) (time.Duration, error) {
		begun := time.Now()
		if rests := rested.Sub(begun); rests > 0 {
			return rests, nil
		}
		p, err := w.StartWorkflows(ctx)
		if due := !p.NextAt.IsZero() && !p.NextAt.After(p.Now); err == nil && due {
			if p, err = w.WakeWorkflows(ctx); p.Jobs == 0 && p.NextAt.IsZero() {
				return clockEvery, err
			}
		}
		rested = time.Now().Add(p.Rest)
		if p.Jobs > 0 {
			return max(p.Rest, shortest), err
		}
		return max(p.Rest, until(p.NextAt, p.Now, begun)), err
	}
}
