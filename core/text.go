package core

import (
	"fmt"
	"strings"
	"time"
)

const MaxLines = 50 // lines of a message about several notifications

// OneLine removes line ends and other characters that break a line.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }), " ")
}

// List formats names for an error.
func List[S ~string](all []S) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// Stamp formats an instant for sentences, in UTC. For programs use RFC 3339.
func Stamp(t time.Time) string { return StampIn(t, time.UTC) }

// StampIn is [Stamp] in a time zone, with the abbreviation of the zone.
func StampIn(t time.Time, in *time.Location) string {
	return t.In(in).Format("2006-01-02 15:04:05 MST")
}

// Plural formats a number and a noun, with an s for all numbers but one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
