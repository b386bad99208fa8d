package parts

import (
	"fmt"
	"strings"
	"time"
)

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

// Passed reports that it is not in the future.
func (m Moment) Passed() bool { return !m.at.IsZero() && !m.at.After(m.now) }

// Relative is shown instead of the instant itself.
func (m Moment) Relative() bool { return m.rel }

// Attr is the value of the attribute datetime.
func (m Moment) Attr() string { return m.at.UTC().Format(time.RFC3339Nano) }

// Location is the zone that it is shown in.
func (m Moment) Location() *time.Location { return m.zone }

// Zone is the name of the zone that it is shown in.
func (m Moment) Zone() string { return m.zone.String() }

// Text is the instant for people; today's without their date, this year's
// without their year, and those of a whole minute without seconds.
func (m Moment) Text() string {
	at, now := m.at.In(m.zone), m.now.In(m.zone)
	layout := "2 Jan 2006, 15:04"
	switch {
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		layout = "15:04"
	case at.Year() == now.Year():
		layout = "2 Jan, 15:04"
	}
	return at.Format(layout + seconds(at))
}

// Dated is the instant with its day of the week.
func (m Moment) Dated() string {
	at, layout := m.at.In(m.zone), "Mon 2 Jan, 15:04"
	if at.Year() != m.now.In(m.zone).Year() {
		layout = "Mon 2 Jan 2006, 15:04"
	}
	return at.Format(layout + seconds(at))
}

// Season is the name of the clock that the zone has at the instant, such as EEST, or that of the zone where its clocks have
// none: in the night when clocks go back it tells two equal times apart.
func (m Moment) Season() string {
	if clock := m.at.In(m.zone).Format("MST"); !strings.ContainsAny(clock, "+-") {
		return clock
	}
	return m.Zone()
}

// TimeTitle is an instant in the title of a picture, where the viewer's zone is not known: in UTC, which it says.
func TimeTitle(t time.Time) string {
	t = t.UTC()
	return t.Format("2 Jan, 15:04" + seconds(t) + " UTC")
}

func seconds(at time.Time) string {
	if at.Second() == 0 {
		return ""
	}
	return ":05"
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

// roughly writes a length of time: minutes without seconds, hours with their
// minutes while they are few, a day with its hours. time.js does the same.
func roughly(d time.Duration) string {
	minutes, hours, days := int(d/time.Minute), int(d/time.Hour), int(d/(24*time.Hour))
	switch {
	case days >= 2:
		return NumberText(days) + " d"
	case days == 1:
		return two(1, "d", hours-24, "h")
	case hours >= 10:
		return fmt.Sprint(hours, " h")
	case hours >= 1:
		return two(hours, "h", minutes%60, "min")
	case minutes >= 1:
		return fmt.Sprint(minutes, " min")
	}
	return fmt.Sprint(int(d/time.Second), " s")
}

func two(a int, unit string, b int, less string) string {
	if b == 0 {
		return fmt.Sprint(a, " ", unit)
	}
	return fmt.Sprint(a, " ", unit, " ", b, " ", less)
}
