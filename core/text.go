package core

import (
	"fmt"
	"strings"
	"time"
)

const MaxLines = 50 // of a message about several notifications

// OneLine takes line ends and what else tears a line apart out of a text.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }), " ")
}

// List is names as an error lists them.
func List[S ~string](all []S) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// Stamp is an instant as sentences show it. Programs read RFC 3339 instead.
func Stamp(t time.Time) string { return StampIn(t, time.UTC) }

// StampIn is Stamp on the clocks of a zone, with the name of that clock.
func StampIn(t time.Time, in *time.Location) string {
	return t.In(in).Format("2006-01-02 15:04:05 MST")
}

// Plural is a number and a noun, with an s for all numbers but one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
