package hooks

import (
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// gathered are the events of schedules in a transition, in their order. They are written at once at its end, however
// many schedules fire in it.
type gathered struct{ events []hook.Event }

// gather records an event at the end of the transition.
func (c *Change) gather(e hook.Event) error {
	if c.Foreign { // it has no end of its own
		return c.happened([]hook.Event{e})
	}
	g := base.Kept[gathered](c.Change)
	if len(g.events) == 0 {
		c.Before(func() error {
			events := g.events
			g.events = nil
			return c.happened(events)
		})
	}
	g.events = append(g.events, e)
	return nil
}

func (c *Change) happened(events []hook.Event) error {
	all, err := c.all()
	if err != nil || len(all.of) == 0 {
		return err
	}
	return c.record(all, events)
}

// Changed records that a schedule was paused, was resumed or is completed.
func (c *Change) Changed(s schedule.Schedule, kind string) error {
	if _, owned := task.OwnerOf(s.Name); owned {
		return nil
	}
	return c.gather(hook.OfSchedule(s, kind, c.Now))
}

// Missed records runs of a schedule that will never be, against the plan.
func (c *Change) Missed(s schedule.Schedule, o schedule.Occurrence) error {
	e, missed := hook.OfMissed(s, o, c.Now)
	if !missed {
		return nil
	}
	return c.gather(e)
}
