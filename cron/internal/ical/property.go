// Package ical reads the lines and values of iCalendar (RFC 5545).
package ical

import (
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/wall"
	"github.com/belfry-run/belfry/cron/internal/zone"
)

// Property is one content line of iCalendar: NAME;PARAM=VALUE:value (RFC 5545 section 3.1).
type Property struct {
	Name   string
	Params map[string]string // upper-case names; quotes taken off
	Value  string
	Pos    int // column of the value in the unfolded line, from 1
}

// Unfold joins continuation lines (a line break and a blank) and drops empty lines.
func Unfold(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case line == "":
		case (line[0] == ' ' || line[0] == '\t') && len(lines) > 0:
			lines[len(lines)-1] += line[1:]
		default:
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// ParseProperty reads one unfolded line.
func ParseProperty(line string) (Property, error) {
	p := Property{Params: map[string]string{}}
	end := strings.IndexAny(line, ";:")
	if end < 1 {
		return p, &refusal.Error{Field: "line", Value: line, Msg: "is not NAME:value (RFC 5545 section 3.1)"}
	}
	p.Name = strings.ToUpper(line[:end])
	for line[end] == ';' {
		stop := paramEnd(line, end+1)
		if stop < 0 {
			return p, &refusal.Error{Field: p.Name, Value: line, Msg: "has no : before its value (RFC 5545 section 3.1)"}
		}
		name, value, ok := strings.Cut(line[end+1:stop], "=")
		if !ok {
			return p, &refusal.Error{Field: p.Name, Value: line[end+1 : stop], Pos: end + 2, Msg: "is not PARAM=value (RFC 5545 section 3.2)"}
		}
		p.Params[strings.ToUpper(name)] = strings.Trim(value, `"`)
		end = stop
	}
	p.Value, p.Pos = line[end+1:], end+2
	return p, nil
}

// paramEnd is where the parameter that starts at from ends, minding quotes; -1 when the line ends first.
func paramEnd(line string, from int) int {
	quoted := false
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '"':
			quoted = !quoted
		case ';', ':':
			if !quoted {
				return i
			}
		}
	}
	return -1
}

// Stamp is a DATE or DATE-TIME as written: a reading of the wall clock, and whether it is UTC or a whole day.
type Stamp struct {
	Wall int64
	UTC  bool
	Date bool
}

// ParseStamp reads 20270301, 20270301T090000 or 20270301T090000Z.
func ParseStamp(field, s string, pos int) (Stamp, error) {
	bad := &refusal.Error{Field: field, Value: s, Pos: pos, Msg: "is not a date (RFC 5545 sections 3.3.4 and 3.3.5)", Hint: "write 20270301, 20270301T090000 or 20270301T090000Z"}
	text, utc := strings.CutSuffix(strings.ToUpper(s), "Z")
	date, clock, timed := strings.Cut(text, "T")
	if len(date) != 8 || timed && len(clock) != 6 || utc && !timed {
		return Stamp{}, bad
	}
	y, ok1 := spell.Number(date[:4])
	m, ok2 := spell.Number(date[4:6])
	d, ok3 := spell.Number(date[6:])
	if !ok1 || !ok2 || !ok3 || y < civil.MinYear || m < 1 || m > 12 || d < 1 || d > civil.DaysInMonth(y, m) {
		return Stamp{}, bad
	}
	st := Stamp{Wall: civil.DayOf(y, m, d) * civil.DaySecs, UTC: utc, Date: !timed}
	if !timed {
		return st, nil
	}
	n, ok := spell.Number(clock)
	h, mi, sec := n/10000, n/100%100, n%100
	if !ok || h > 23 || mi > 59 || sec > 60 {
		return Stamp{}, bad
	}
	st.Wall += int64(h*3600 + mi*60 + min(sec, 59)) // section 3.3.12: without leap seconds, 60 is 59
	return st, nil
}

// Instant is where a stamp lies in real time, seen from a zone: a skipped time with the offset before the gap, a doubled
// time as the first of the two (RFC 5545 section 3.3.5).
func (s Stamp) Instant(loc *time.Location) int64 {
	if s.UTC {
		return s.Wall
	}
	c := wall.Clock{Loc: loc, Seams: wall.ICal}
	return c.Next(oneWall(s.Wall), s.Wall-wall.Skew)
}

// oneWall is the rule that matches one wall second.
type oneWall int64

func (o oneWall) WallFrom(w int64) int64 {
	if w <= int64(o) {
		return int64(o)
	}
	return civil.None
}

// FormatWall writes a wall second as a DATE-TIME.
func FormatWall(w int64) string {
	return time.Unix(w, 0).UTC().Format("20060102T150405")
}

// Zone finds the zone of a TZID: an IANA name, one with a vendor's prefix ("/example.org/Europe/Berlin"), or a name
// that Windows and Outlook use.
func Zone(tzid string) (*time.Location, error) {
	loc, err := zone.Load(strings.TrimPrefix(tzid, "/"))
	if err == nil && tzid != "" {
		return loc, nil
	}
	if name, ok := windowsZones[tzid]; ok {
		return zone.Load(name)
	}
	for rest := strings.TrimPrefix(tzid, "/"); strings.Contains(rest, "/"); {
		_, rest, _ = strings.Cut(rest, "/")
		if loc, err := zone.Load(rest); err == nil && strings.Contains(rest, "/") {
			return loc, nil
		}
	}
	if tzid == "" {
		err = zone.Refuse(tzid, "is an empty TZID (RFC 5545 section 3.2.19)", "")
	}
	return nil, err
}

// Duration reads an RFC 5545 section 3.3.6 duration like P1DT2H in seconds.
func Duration(s string) (int64, bool) {
	rest, ok := strings.CutPrefix(strings.ToUpper(strings.TrimPrefix(s, "+")), "P")
	if !ok || rest == "" {
		return 0, false
	}
	total, clock := int64(0), false
	for rest != "" {
		if !clock && rest[0] == 'T' {
			clock, rest = true, rest[1:]
			continue
		}
		i := strings.IndexAny(rest, "WDHMS")
		if i < 1 {
			return 0, false
		}
		n, err := strconv.ParseUint(rest[:i], 10, 31)
		unit := map[byte]int64{'W': 7 * civil.DaySecs, 'D': civil.DaySecs, 'H': 3600, 'M': 60, 'S': 1}[rest[i]]
		if err != nil || clock != strings.ContainsRune("HMS", rune(rest[i])) {
			return 0, false
		}
		total += int64(n) * unit
		rest = rest[i+1:]
	}
	return total, true
}

// Lasting splits a duration into days of the wall clock and seconds of real time. At most 366 days.
func Lasting(s string) (days, secs int64, ok bool) {
	if total, ok := Duration(s); ok {
		if i := strings.IndexByte(strings.ToUpper(s), 'T'); i >= 0 {
			secs, _ = Duration("P" + s[i:])
		}
		return (total - secs) / civil.DaySecs, secs, total > 0 && total <= 366*civil.DaySecs
	}
	d, ok := spell.ReadDuration(s)
	if !ok || d > 366*24*time.Hour || d < time.Second {
		return 0, 0, false
	}
	total := int64(d / time.Second)
	if strings.ContainsAny(s, "dw") {
		return total / civil.DaySecs, total % civil.DaySecs, true
	}
	return 0, total, true
}

// Line is the property as text again.
func (p Property) Line(name string) string {
	for _, key := range []string{"VALUE", "TZID"} {
		if value, ok := p.Params[key]; ok {
			name += ";" + key + "=" + strconv.Quote(value)
		}
	}
	return name + ":" + p.Value
}
