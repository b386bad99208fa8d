package parts

import "time"

// Moment is an instant for the part "time".
type Moment struct {
	at   time.Time
	now  time.Time
	zone *time.Location
	rel  bool
}

// NewMoment is an instant as it is seen now in a zone, or by how far it is from now.
func NewMoment(at, now time.Time, zone *time.Location, relative bool) Moment {
	return Moment{at, now, zone, relative}
}

// None reports that there is no such instant.
func (m Moment) None() bool { return m.at.IsZero() }

// Relative is shown instead of the instant itself.
func (m Moment) Relative() bool { return m.rel }

// Attr is for machines.
func (m Moment) Attr() string { return m.at.UTC().Format(time.RFC3339Nano) }

// Zone is the name of the zone that it is shown in.
func (m Moment) Zone() string { return m.zone.String() }

// Text is the instant for people; today's without their date, this year's
// without their year.
func (m Moment) Text() string {
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
func (m Moment) Full() string { return m.at.In(m.zone).Format("Mon 2 Jan 2006, 15:04:05 MST") }

// Rel is how far it is from now.
func (m Moment) Rel() string {
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
			return NumberText(int(d/u.size)) + " " + u.name
		}
	}
	return NumberText(int(d/time.Second)) + " s"
}
