package cron

import (
	"errors"
	"fmt"
	"strings"
)

// Error is why a text was refused: where it went wrong, what had been understood before, and what to write instead.
type Error struct {
	Field string // the part that is wrong: "minute", "weekday", "BYDAY", "zone", ...; "" for the whole text
	Value string // the words refused, as written
	Pos   int    // column of the first wrong character, from 1; 0 when there is no single place
	Msg   string // what is wrong with it; for RRULE with the section of RFC 5545
	Seen  string // what was understood up to there; may be empty
	Hint  string // what to do: "did you mean ...?"; may be empty

	fix   string // what to put in place of Value, if that is known
	never bool   // the rule is lawful and has no occurrence
}

// Error is one sentence for a person.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	if e.Value != "" {
		fmt.Fprintf(&b, "%q ", clip(e.Value))
	}
	if e.Pos > 0 {
		fmt.Fprintf(&b, "(column %d) ", e.Pos)
	}
	b.WriteString(e.Msg)
	if e.Seen != "" {
		b.WriteString("; understood so far: " + e.Seen)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// asError is the Error in an error that is known to be one.
func asError(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// clip keeps a hostile text from filling a log line.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}
