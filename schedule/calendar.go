package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/cron"
)

// Calendar is a named set of times, shared by the schedules of its namespace:
// weekly hours, dates, and events that recur, such as holidays. A schedule
// either stays out of them (blackout) or runs only within them.
type Calendar struct {
	Namespace   string `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string `json:"name" doc:"Unique in the namespace"`
	Title       string `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string `json:"description,omitempty"`
	cron.CalendarSpec

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true" doc:"Grows with every edit"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// MaxCalendars bounds the calendars that one schedule refers to.
const MaxCalendars = 16

// MaxICS is the size of an iCalendar file that can be imported, in bytes.
const MaxICS = 4 << 20

// WithDefaults fills what was left out.
func (c Calendar) WithDefaults() Calendar {
	c.Namespace = core.Or(c.Namespace, core.DefaultNamespace)
	c.Zone = core.Or(c.Zone, "UTC")
	if c.Closings == nil {
		c.Closings = []cron.Closing{}
	}
	return c
}

// Validate says everything that is wrong with a calendar that has its defaults.
func (c Calendar) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", c.Name)
	core.CheckName(&p, "namespace", c.Namespace)
	title.Check(&p, "title", c.Title)
	if len(c.Description) > core.MaxDescription {
		p.Addf("description", len(c.Description), "has more than %d bytes", core.MaxDescription)
	}
	if _, err := cron.NewCalendar(c.CalendarSpec); err != nil {
		var ce *cron.Error
		if errors.As(err, &ce) && ce.Place != "" {
			p.AddCron(ce.Place, "", err)
		} else if ce != nil {
			p.Add(core.Or(ce.Field, "closings"), ce.Value, ce.Msg, ce.Hint)
		} else {
			p.Add("closings", "", err.Error(), "")
		}
	}
	return p.Err(fmt.Sprintf("calendar %q", c.Name))
}

// OnBlackout says what happens to a nominal time on which a calendar says no.
type OnBlackout string

// A moved run keeps its nominal time and becomes due when the calendars let it.
const (
	BlackoutSkip     OnBlackout = "skip"
	BlackoutNextOpen OnBlackout = "next_open"
)

// Gate is the calendars of a schedule, made ready to ask.
type Gate struct {
	Blackout []NamedCalendar
	within   []NamedCalendar
}

type NamedCalendar struct {
	name string
	cal  *cron.Calendar
}

// closed says whether the calendars keep t from running, and which of them.
func (g Gate) closed(t time.Time) (why string, closed bool) {
	for _, c := range g.Blackout {
		if in, reason := c.cal.Closed(t); in {
			return fmt.Sprintf("calendar %s: %s", c.name, reason), true
		}
	}
	for _, c := range g.within {
		if in, _ := c.cal.Closed(t); !in {
			return fmt.Sprintf("outside calendar %s", c.name), true
		}
	}
	return "", false
}

// gateRounds bounds the search for a time that all calendars agree on.
const gateRounds = 200

// NextOpen is the first instant at or after t on which no calendar says no;
// zero when none was found.
func (g Gate) NextOpen(t time.Time) time.Time {
	for range gateRounds {
		at := t
		for _, c := range g.Blackout {
			if at = c.cal.NextOpen(at); at.IsZero() {
				return at
			}
		}
		for _, c := range g.within {
			if at = c.cal.NextClosed(at); at.IsZero() {
				return at
			}
		}
		if at.Equal(t) {
			return core.Micro(at)
		}
		t = at
	}
	return time.Time{}
}

// Calendars lists the names of all calendars that a schedule refers to.
func (s Schedule) Calendars() []string {
	return append(append([]string(nil), s.Blackout...), s.Within...)
}

// Gate makes the calendars ready that the schedule names. One that is not
// among those given is a fault of the field that names it.
func (s Schedule) Gate(p *core.Problems, given []Calendar) Gate {
	byName := map[string]Calendar{}
	for _, c := range given {
		byName[c.Name] = c
	}
	pick := func(field string, names []string) (out []NamedCalendar) {
		for i, name := range names {
			path := fmt.Sprintf("%s[%d]", field, i)
			c, ok := byName[name]
			if !ok {
				p.Add(path, name, "is not a calendar in namespace "+s.Namespace, "create it first, or apply both in one file")
				continue
			}
			cal, err := cron.NewCalendar(c.CalendarSpec)
			if err != nil {
				p.AddCron(path, name, err)
				continue
			}
			out = append(out, NamedCalendar{name, cal})
		}
		return out
	}
	return Gate{Blackout: pick("blackout", s.Blackout), within: pick("within", s.Within)}
}
