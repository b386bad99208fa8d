package cron

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/zone"
)

// icsFile is what is read of a file.
type icsFile struct {
	zone   string
	events []*vevent
}

// vevent is one VEVENT.
type vevent struct {
	uid, summary string
	canceled     bool
	start, end   property // DTSTART and DTEND
	duration     string
	moves        property // RECURRENCE-ID
	recurs       []string // RRULE, RDATE and EXDATE lines
}

// readICS finds the events.
func readICS(text string) (*icsFile, error) {
	f := &icsFile{}
	var stack []string
	var v *vevent
	found := false
	for _, line := range unfold(strings.TrimPrefix(text, "\ufeff")) {
		p, err := parseProperty(line)
		if err != nil {
			return nil, err
		}
		value := strings.ToUpper(p.value)
		switch {
		case p.name == "BEGIN":
			stack = append(stack, value)
			found = found || value == "VCALENDAR"
			if value == "VEVENT" {
				v = &vevent{}
				f.events = append(f.events, v)
			}
		case p.name == "END":
			if len(stack) == 0 || stack[len(stack)-1] != value {
				return nil, &refusal.Error{Field: "calendar", Value: line, Msg: "ends what did not begin (RFC 5545 section 3.6)"}
			}
			stack = stack[:len(stack)-1]
		case len(stack) > 0 && stack[len(stack)-1] == "VEVENT":
			v.take(p, line)
		case p.name == "X-WR-TIMEZONE":
			if loc, err := icalZone(p.value); err == nil {
				f.zone = loc.String()
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
func (v *vevent) take(p property, line string) {
	switch p.name {
	case "UID":
		v.uid = p.value
	case "SUMMARY":
		v.summary = strings.NewReplacer(`\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(p.value)
	case "STATUS":
		v.canceled = strings.EqualFold(p.value, "CANCELLED")
	case "DTSTART":
		v.start = p
	case "DTEND":
		v.end = p
	case "DURATION":
		v.duration = p.value
	case "RECURRENCE-ID":
		v.moves = p
	case "RRULE", "RDATE", "EXDATE", "EXRULE":
		v.recurs = append(v.recurs, line)
	}
}

// moveOverrides takes the occurrences that other events replace out of their series.
func (f *icsFile) moveOverrides() {
	series := map[string]*vevent{}
	for _, v := range f.events {
		if v.moves.value == "" && v.uid != "" {
			series[v.uid] = v
		}
	}
	for _, v := range f.events {
		if s := series[v.uid]; s != nil && v.moves.value != "" && len(s.recurs) > 0 {
			s.recurs = append(s.recurs, v.moves.line("EXDATE"))
		}
	}
}

// icsClosing is what an event closes, as texts of a cron.Closing.
type icsClosing struct {
	dates       string
	rule, lasts string
}

// closing is what the event closes; times without a zone are read in the one of this name. Not ok: it closes nothing.
func (v *vevent) closing(home string) (cl icsClosing, ok bool, err error) {
	if v.canceled {
		return cl, false, nil
	}
	if v.start.value == "" {
		return cl, false, &refusal.Error{Field: "DTSTART", Msg: "is missing (RFC 5545 section 3.6.1)"}
	}
	start, err := parseStamp("DTSTART", v.start.value, v.start.pos)
	if err != nil {
		return cl, false, err
	}
	days, secs, err := v.length(start, home)
	if err != nil || days+secs <= 0 {
		return cl, false, err
	}
	if len(v.recurs) == 0 && start.date {
		cl.dates = dashed(start.wall)
		if days > 1 {
			cl.dates += ".." + dashed(start.wall+(days-1)*civil.DaySecs)
		}
		return cl, true, nil
	}
	cl.lasts = fmt.Sprintf("P%dDT%dS", days, secs)
	cl.rule = strings.Join(append([]string{v.start.line("DTSTART")}, v.recurs...), "\n")
	if len(v.recurs) == 0 {
		cl.rule = v.start.line("RDATE")
	} else if !strings.Contains(strings.ToUpper(cl.rule), "\nRRULE") {
		cl.rule += "\n" + v.start.line("RDATE") // without a rule DTSTART itself is an occurrence
	}
	return cl, true, nil
}

func dashed(wall int64) string {
	s := formatWall(wall)
	return s[:4] + "-" + s[4:6] + "-" + s[6:8]
}

// length is how long the event lasts, as days of the wall clock or as seconds.
func (v *vevent) length(start stamp, home string) (days, secs int64, err error) {
	switch {
	case v.duration != "":
		days, secs, ok := lasting(v.duration)
		if !ok {
			return 0, 0, &refusal.Error{Field: "DURATION", Value: v.duration, Msg: "is not a duration of up to 366 days (RFC 5545 section 3.3.6)"}
		}
		return days, secs, nil
	case v.end.value == "" && start.date:
		return 1, 0, nil
	case v.end.value == "":
		return 0, 0, nil
	}
	end, err := parseStamp("DTEND", v.end.value, v.end.pos)
	if err != nil {
		return 0, 0, err
	}
	if start.date {
		days = (end.wall - start.wall) / civil.DaySecs
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
func (v *vevent) instant(p property, s stamp, home string) (int64, error) {
	loc, err := zone.Load(home)
	if tzid, ok := p.params["TZID"]; ok && !s.utc {
		loc, err = icalZone(tzid)
	}
	if err != nil {
		return 0, err
	}
	return s.instant(loc), nil
}
