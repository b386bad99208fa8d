package console

import (
	"time"
)

// moment is an instant for the part "time".
type moment struct {
	at   time.Time
	now  time.Time
	zone *time.Location
	rel  bool
}

// When shows an instant in UTC, beside how long ago it was or is to come. The
// viewer's own zone shows when it is looked at.
func (p *page) When(t time.Time) moment { return moment{t, p.Now, time.UTC, false} }

// WhenIn does so in a schedule's zone.
func (p *page) WhenIn(zone string, t time.Time) moment {
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return moment{t, p.Now, at, false}
}

// Ago shows how long ago an instant was, or when it comes; the instant itself
// shows when it is looked at.
func (p *page) Ago(t time.Time) moment { return moment{t, p.Now, time.UTC, true} }

// None reports that there is no such instant.
func (m moment) None() bool { return m.at.IsZero() }

// Relative is shown instead of the instant itself.
func (m moment) Relative() bool { return m.rel }

// Attr is for machines.
func (m moment) Attr() string { return m.at.UTC().Format(time.RFC3339Nano) }

// Zone is the name of the zone that it is shown in.
func (m moment) Zone() string { return m.zone.String() }

// Text is the instant for people; today's without their date, this year's
// without their year.
func (m moment) Text() string {
	at, now := m.at.In(m.zone), m.now.In(m.zone)
	layout := "2 Jan 2006, 15:04:05"
	switch {
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		layout = "15:04:05"
	case at.Year() == now.Year():
		layout = "2 Jan, 15:04:05"
	}
	return at.Format(layout)
}

// Full is the instant with everything.
func (m moment) Full() string { return m.at.In(m.zone).Format("Mon 2 Jan 2006, 15:04:05 MST") }

// Rel is how far it is from now.
func (m moment) Rel() string {
	d := m.now.Sub(m.at)
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return "in " + roughly(-d)
	}
	return roughly(d) + " ago"
}

// roughly writes a length of time in its largest unit.
func roughly(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= 2*u.size || d >= u.size && u.name == "d" {
			return numberText(int(d/u.size)) + " " + u.name
		}
	}
	return numberText(int(d/time.Second)) + " s"
}
