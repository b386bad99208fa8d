package hooks

import (
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// gathered holds the events of schedules in a transition, in order. They are written together at its end, however many
// schedules fire.
type gathered struct{ events []hook.Event }

// gather records an event at the end of the transition.
func (c *Change) gather(e hook.Event) error {
	if c.Foreign { // a caller's transaction has no end here
		return c.recordEvents([]hook.Event{e})
	}
	g := base.Kept[gathered](c.Change)
	if len(g.events) == 0 {
		c.Before(func() error {
			events := g.events
			g.events = nil
			return c.recordEvents(events)
		})
	}
	g.events = append(g.events, e)
	return nil
}

func (c *Change) recordEvents(events []hook.Event) error {
	all, err := c.allHooks()
	if err != nil || len(all.of) == 0 {
		return err
	}
	return c.record(all, events)
}

// Changed records that a schedule was paused, resumed or completed.
func (c *Change) Changed(s schedule.Schedule, kind string) error {
	if _, owned := task.OwnerOf(s.Name); owned {
		return nil
	}
	return c.gather(hook.OfSchedule(s, kind, c.Now))
}

// Missed records planned runs of a schedule that will never happen.
func (c *Change) Missed(s schedule.Schedule, o schedule.Occurrence) error {
	e, missed := hook.OfMissed(s, o, c.Now)
	if !missed {
		return nil
	}
	return c.gather(e)
}
