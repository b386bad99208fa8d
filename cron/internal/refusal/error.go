// Package refusal is why a text was refused: a message, and often a spelling that would be accepted. Package cron turns it
// into its own error; nothing outside of cron sees it.
package refusal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Error is the refusal of a text: the place of the fault, the part that was understood, and a correction.
type Error struct {
	Field string // the part that is wrong: "minute", "weekday", "BYDAY", "zone", ...; "" for the whole text
	Value string // the words refused, as written
	Pos   int    // column of the first wrong character, from 1; 0 when there is no single place
	Msg   string // the fault; for RRULE with the section of RFC 5545
	Seen  string // the text understood up to there; may be empty
	Hint  string // the way out: "did you mean ...?"; may be empty
	Place string // of a part of a calendar, such as closings[2]; "" for a rule

	fix   string // replacement of Value, if it is known
	never bool   // the rule is lawful and has no occurrence
}

// Error is one sentence for a person.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	if e.Value != "" {
		fmt.Fprintf(&b, "%q ", spell.Clip(e.Value))
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

// Never marks the refusal of a rule that is lawful and has no occurrence.
func Never(e *Error) *Error {
	e.never = true
	return e
}

// IsNever reports whether an error refuses such a rule.
func IsNever(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.never
}

// WithFix adds the replacement of its value to a refusal, if it is known.
func WithFix(e *Error, fix string) *Error {
	e.fix = fix
	return e
}

// Fix is the replacement that [WithFix] added, or "".
func Fix(e *Error) string { return e.fix }

// As is the Error in an error that is known to be one.
func As(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}
