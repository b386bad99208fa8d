// Package ics reads the events of a calendar file, and turns them into closings of a calendar. An event that Belfry cannot
// keep exactly is an error with its line, and never a guess.
package ics

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/ical"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/zone"
)

// File is a calendar file as it was read.
type File struct {
	Zone   string
	Events []*Event
}

// Event is one VEVENT.
type Event struct {
	uid, Summary string
	canceled     bool
	start, end   ical.Property // DTSTART and DTEND
	duration     string
	moves        ical.Property // RECURRENCE-ID
	recurs       []string      // RRULE, RDATE and EXDATE lines
}

// Read finds the events.
func Read(text string) (*File, error) {
	f := &File{}
	var stack []string
	var v *Event
	found := false
	for _, line := range ical.Unfold(strings.TrimPrefix(text, "\ufeff")) {
		p, err := ical.ParseProperty(line)
		if err != nil {
			return nil, err
		}
		value := strings.ToUpper(p.Value)
		switch {
		case p.Name == "BEGIN":
			stack = append(stack, value)
			found = found || value == "VCALENDAR"
			if value == "VEVENT" {
				v = &Event{}
				f.Events = append(f.Events, v)
			}
		case p.Name == "END":
			if len(stack) == 0 || stack[len(stack)-1] != value {
				return nil, &refusal.Error{Field: "calendar", Value: line, Msg: "ends what did not begin (RFC 5545 section 3.6)"}
			}
			stack = stack[:len(stack)-1]
		case len(stack) > 0 && stack[len(stack)-1] == "VEVENT":
			v.take(p, line)
		case p.Name == "X-WR-TIMEZONE":
			if loc, err := ical.Zone(p.Value); err == nil {
				f.Zone = loc.String()
			}
		}
	}
	if !found || len(stack) > 0 {
		return nil, &refusal.Error{Field: "calendar", Msg: "is not a whole iCalendar file (RFC 5545 section 3.4)", Hint: "it starts with BEGIN:VCALENDAR and ends with END:VCALENDAR"}
	}
	f.moveOverrides()
	return f, nil
}

// take keeps a property of an event.
func (v *Event) take(p ical.Property, line string) {
	switch p.Name {
	case "UID":
		v.uid = p.Value
	case "SUMMARY":
		v.Summary = strings.NewReplacer(`\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(p.Value)
	case "STATUS":
		v.canceled = strings.EqualFold(p.Value, "CANCELLED")
	case "DTSTART":
		v.start = p
	case "DTEND":
		v.end = p
	case "DURATION":
		v.duration = p.Value
	case "RECURRENCE-ID":
		v.moves = p
	case "RRULE", "RDATE", "EXDATE", "EXRULE":
		v.recurs = append(v.recurs, line)
	}
}

// moveOverrides takes the occurrences that other events replace out of their series.
func (f *File) moveOverrides() {
	series := map[string]*Event{}
	for _, v := range f.Events {
		if v.moves.Value == "" && v.uid != "" {
			series[v.uid] = v
		}
	}
	for _, v := range f.Events {
		if s := series[v.uid]; s != nil && v.moves.Value != "" && len(s.recurs) > 0 {
			s.recurs = append(s.recurs, v.moves.Line("EXDATE"))
		}
	}
}

// Closing is the time that an event closes, as the texts of a cron.Closing.
type Closing struct {
	Dates       string
	Rule, Lasts string
}

// Closing returns the closing of the event; times without a zone are read in the zone home. ok is false if it closes nothing.
func (v *Event) Closing(home string) (cl Closing, ok bool, err error) {
	if v.canceled {
		return cl, false, nil
	}
	if v.start.Value == "" {
		return cl, false, &refusal.Error{Field: "DTSTART", Msg: "is missing (RFC 5545 section 3.6.1)"}
	}
	start, err := ical.ParseStamp("DTSTART", v.start.Value, v.start.Pos)
	if err != nil {
		return cl, false, err
	}
	days, secs, err := v.length(start, home)
	if err != nil || days+secs <= 0 {
		return cl, false, err
	}
	if len(v.recurs) == 0 && start.Date {
		cl.Dates = dashed(start.Wall)
		if days > 1 {
			cl.Dates += ".." + dashed(start.Wall+(days-1)*civil.DaySecs)
		}
		return cl, true, nil
	}
	cl.Lasts = fmt.Sprintf("P%dDT%dS", days, secs)
	cl.Rule = strings.Join(append([]string{v.start.Line("DTSTART")}, v.recurs...), "\n")
	if len(v.recurs) == 0 {
		cl.Rule = v.start.Line("RDATE")
	} else if !strings.Contains(strings.ToUpper(cl.Rule), "\nRRULE") {
		cl.Rule += "\n" + v.start.Line("RDATE") // without a rule DTSTART itself is an occurrence
	}
	return cl, true, nil
}

func dashed(wall int64) string {
	s := ical.FormatWall(wall)
	return s[:4] + "-" + s[4:6] + "-" + s[6:8]
}

// length is how long the event lasts, as days of the wall clock or as seconds.
func (v *Event) length(start ical.Stamp, home string) (days, secs int64, err error) {
	switch {
	case v.duration != "":
		days, secs, ok := ical.Lasting(v.duration)
		if !ok {
			return 0, 0, &refusal.Error{Field: "DURATION", Value: v.duration, Msg: "is not a duration of up to 366 days (RFC 5545 section 3.3.6)"}
		}
		return days, secs, nil
	case v.end.Value == "" && start.Date:
		return 1, 0, nil
	case v.end.Value == "":
		return 0, 0, nil
	}
	end, err := ical.ParseStamp("DTEND", v.end.Value, v.end.Pos)
	if err != nil {
		return 0, 0, err
	}
	if start.Date {
		days = (end.Wall - start.Wall) / civil.DaySecs
		return min(days, 366), 0, nil
	}
	from, err := v.instant(v.start, start, home)
	if err != nil {
		return 0, 0, err
	}
	to, err := v.instant(v.end, end, home)
	return 0, min(to-from, 366*civil.DaySecs), err
}

// instant is a time of the event in real time.
func (v *Event) instant(p ical.Property, s ical.Stamp, home string) (int64, error) {
	loc, err := zone.Load(home)
	if tzid, ok := p.Params["TZID"]; ok && !s.UTC {
		loc, err = ical.Zone(tzid)
	}
	if err != nil {
		return 0, err
	}
	return s.Instant(loc), nil
}
