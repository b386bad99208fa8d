package rrule

import (
	"slices"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/ical"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// part is KEY=VALUE of an RRULE.
type part struct {
	key, value string
	pos        int // column of the value
}

// wrong is an error about a part; the section is where all rules of RRULE stand.
func (p part) wrong(msg, hint string) *refusal.Error {
	return &refusal.Error{Field: p.key, Value: p.value, Pos: p.pos, Msg: msg + " (RFC 5545 section 3.3.10)", Hint: hint}
}

// partOrder is how the normal form lists them, and all that exist.
var partOrder = strings.Fields("FREQ INTERVAL COUNT UNTIL BYMONTH BYWEEKNO BYYEARDAY BYMONTHDAY BYDAY BYHOUR BYMINUTE BYSECOND BYSETPOS WKST")

// ruleParts cuts an RRULE value.
func ruleParts(p ical.Property) (map[string]part, error) {
	parts, pos := map[string]part{}, p.Pos
	for text := range strings.SplitSeq(p.Value, ";") {
		at := pos
		pos += len(text) + 1
		if strings.TrimSpace(text) == "" {
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		key = strings.ToUpper(strings.TrimSpace(key))
		value = strings.ToUpper(strings.TrimSpace(value))
		switch {
		case !ok || value == "":
			return nil, &refusal.Error{Field: "RRULE", Value: text, Pos: at, Msg: "is not PART=value (RFC 5545 section 3.3.10)"}
		case !slices.Contains(partOrder, key):
			return nil, &refusal.Error{Field: "RRULE", Value: key, Pos: at, Msg: "is not a part of a rule (RFC 5545 section 3.3.10)",
				Hint: spell.DidYouMean(spell.Nearest(key, partOrder), "the parts are "+strings.Join(partOrder, " "))}
		case parts[key].value != "":
			return nil, &refusal.Error{Field: key, Value: value, Pos: at, Msg: "comes twice; a part comes once (RFC 5545 section 3.3.10)"}
		}
		parts[key] = part{key, value, at + strings.IndexByte(text, '=') + 1}
	}
	return parts, nil
}
