package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/cron"
)

// Calendar is a named set of times: weekly hours, dates, and recurring events
// such as holidays. The schedules of a namespace share its calendars. A schedule
// either does not run in these times (blackout) or runs only in them (within).
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

// MaxCalendars is the most calendars of one schedule.
const MaxCalendars = 16

// MaxICS is the largest iCalendar file for an import, in bytes.
const MaxICS = 4 << 20

// WithDefaults returns a copy with the defaults of empty fields.
func (c Calendar) WithDefaults() Calendar {
	c.Namespace = core.Or(c.Namespace, core.DefaultNamespace)
	c.Zone = core.Or(c.Zone, "UTC")
	if c.Closings == nil {
		c.Closings = []cron.Closing{}
	}
	return c
}

// Validate returns the problems of a calendar that has its defaults as one error, or nil.
func (c Calendar) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", c.Name)
	core.CheckName(&p, "namespace", c.Namespace)
	title.Check(&p, "title", c.Title)
	if len(c.Description) > core.MaxDescription {
		p.Addf("description", c.Description, "has more than %d bytes", core.MaxDescription)
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

// OnBlackout is the policy for a nominal time that a calendar excludes.
type OnBlackout string

// The policies: skip the run, or move it. A moved run keeps its nominal time and
// becomes due at the next time that the calendars allow.
const (
	BlackoutSkip     OnBlackout = "skip"
	BlackoutNextOpen OnBlackout = "next_open"
)

// Gate is the compiled calendars of a schedule.
type Gate struct {
	Blackout []NamedCalendar
	within   []NamedCalendar
}

type NamedCalendar struct {
	name string
	cal  *cron.Calendar
}

// closed reports whether a calendar excludes t, and which one.
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

// gateRounds is the most rounds of the search for a time that all calendars allow.
const gateRounds = 200

// NextOpen returns the first instant at or after t that all calendars allow, or
// the zero time if none is found.
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

// Calendars returns the names of all calendars of the schedule.
func (s Schedule) Calendars() []string {
	return append(append([]string(nil), s.Blackout...), s.Within...)
}

// Gate compiles the calendars that the schedule names. A name that is not among
// the given calendars is a problem of its field, added to p.
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
