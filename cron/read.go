package cron

import (
	"strings"
	"time"
)

// wallLayouts are how people write a time of a zone.
var wallLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// ReadTime reads an instant as people write it: RFC 3339; a date, or a date and a time of day, of a zone; or with the name
// of its clock, which is UTC or one that the zone has, such as 2026-12-24 18:00:00 CET. The T may be a space. A time that
// the zone's clocks show twice is the first of the two, unless its clock is named. It is false for all that is none of
// these.
func ReadTime(text string, in *time.Location) (time.Time, bool) {
	text = strings.Replace(text, " ", "T", 1)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	for _, layout := range wallLayouts {
		if t, err := time.ParseInLocation(layout, text, in); err == nil {
			return FirstOf(t), true
		}
		// Package time makes a zone of its own, without an offset, of a name that it does not know.
		if t, err := time.ParseInLocation(layout+" MST", text, in); err == nil && (t.Location() == in || t.Location() == time.UTC) {
			return t, true
		}
	}
	return time.Time{}, false
}
