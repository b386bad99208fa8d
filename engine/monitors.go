package engine

import (
	"context"
	"time"

	"github.com/belfry-run/belfry"
)

// Monitors is a store that keeps monitors.
type Monitors interface {
	LapseMonitors(ctx context.Context) (belfry.Lapsed, error)
	RollUp(ctx context.Context) (more bool, err error)
}

// rollEvery is how often it is looked whether an hour is over.
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

// Cycles is a store that keeps cycles.
type Cycles interface {
	StartCycles(ctx context.Context) (belfry.Promoted, error)
	EndLateCycles(ctx context.Context) (belfry.Promoted, error)
}

func (e *Engine) cycles(c Cycles) pass {
	return func(ctx context.Context) (time.Duration, error) {
		p, err := c.StartCycles(ctx)
		if p.Jobs > 0 || err != nil {
			return shortest, err
		}
		begun := time.Now()
		late, err := c.EndLateCycles(ctx)
		if late.Jobs > 0 {
			return shortest, err
		}
		return until(late.NextAt, late.Now, begun), err
	}
}
