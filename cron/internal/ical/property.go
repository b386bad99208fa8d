// Package ical reads the lines and values of iCalendar (RFC 5545). Recurrences (package rrule) and calendar files (package
// ics) stand on it. Input comes from users and is bounded by the callers.
package ical

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/refusal"
)

// Property is one content line of iCalendar: NAME;PARAM=VALUE:value (RFC 5545 section 3.1).
type Property struct {
	Name   string
	Params map[string]string // upper-case names; quotes taken off
	Value  string
	Pos    int // column of the value in the unfolded line, from 1
}

// Unfold joins continuation lines (a line break and a blank) and drops empty lines. Its cost is linear in the text, however
// often a line is folded.
func Unfold(text string) []string {
	var lines []string
	var line strings.Builder
	end := func() {
		if whole := strings.TrimSpace(line.String()); whole != "" {
			lines = append(lines, whole)
		}
		line.Reset()
	}
	for part := range strings.SplitSeq(text, "\n") {
		part = strings.TrimSuffix(part, "\r")
		switch {
		case part == "":
		case (part[0] == ' ' || part[0] == '\t') && line.Len() > 0:
			line.WriteString(part[1:])
		default:
			end()
			line.WriteString(part)
		}
	}
	end()
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

// Line is the property as text again.
func (p Property) Line(name string) string {
	for _, key := range []string{"VALUE", "TZID"} {
		if value, ok := p.Params[key]; ok {
			name += ";" + key + "=" + strconv.Quote(value)
		}
	}
	return name + ":" + p.Value
}
