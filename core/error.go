package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/cron"
)

// Error is what Belfry says when it refuses or cannot go on: a code for
// machines, a sentence for people, and, where input was at fault, the fields.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError // which inputs were at fault, in the order they were read
	Hint       string       // the next thing to try; may be empty
	RetryAfter Duration     // when to ask again; 0: nothing is known
	Err        error        // the cause, never shown to remote callers
}

// Code is the machine-readable class of an [Error]. It maps to an HTTP status
// in httpapi and to an exit code in cmd/belfry, in one place each.
type Code string

// The codes. A conflict that the caller asked for (an idempotency key that
// exists, a lease that was lost) is a normal result and not an error.
const (
	Invalid      Code = "invalid"      // the input is wrong; Fields says where
	NotFound     Code = "not_found"    // no such thing, or not in this namespace
	Conflict     Code = "conflict"     // the thing exists, or its state forbids this
	Unauthorized Code = "unauthorized" // no token, or one that is not valid any more
	Forbidden    Code = "forbidden"    // a valid token without the needed scope
	TooLarge     Code = "too_large"    // a body, batch or value over its limit
	OverQuota    Code = "over_quota"   // a quota of the namespace has no room for it
	QueueFull    Code = "queue_full"   // a queue has as many jobs waiting as it may
	Unavailable  Code = "unavailable"  // the database or server cannot be reached now
	Unknown      Code = "unknown"      // it may have been done: the answer to the change was lost
	Internal     Code = "internal"     // our fault
)

// FieldError names one input that was refused.
type FieldError struct {
	Field   string `json:"field" doc:"Path of the input, such as rules[0].cron"`
	Value   string `json:"value,omitempty" doc:"What was given, shortened"`
	Message string `json:"message" doc:"What is wrong with it"`
	Hint    string `json:"hint,omitempty" doc:"The way out"`
}

func (f FieldError) String() string {
	var b strings.Builder
	b.WriteString(f.Field)
	if f.Value != "" {
		fmt.Fprintf(&b, " %q", f.Value)
	}
	b.WriteString(": " + f.Message)
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for i, f := range e.Fields {
		if i == 0 && e.Message != "" {
			b.WriteString(": ")
		} else if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the code of the first [Error] in err's chain, or [Internal], and empty for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

var refusals = []Code{Invalid, NotFound, Conflict, TooLarge, Forbidden, OverQuota, QueueFull}

// Refused reports that nothing was done, because of what was asked for.
func Refused(err error) bool { return slices.Contains(refusals, CodeOf(err)) }

// Errorf makes an [Error] with a code and a sentence. A %w verb keeps its cause in the chain.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}

// WithHint adds the next thing to try.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// InvalidField is an [Invalid] error about one field.
func InvalidField(field, value, message, hint string) *Error {
	var p Problems
	p.Add(field, value, message, hint)
	return &Error{Code: Invalid, Message: "invalid input", Fields: p}
}

// Problems collects every fault of an input, so that a user mends a file once and not once per line.
type Problems []FieldError

// shownValue bounds how much of a refused value an error repeats, in bytes.
const shownValue = 120

// Add notes a fault of a field: its value, cut to what is shown, what is wrong and the way out.
func (p *Problems) Add(field, value, message, hint string) {
	if shown, cut := CleanText(value, shownValue); cut {
		value = shown + "…"
	}
	*p = append(*p, FieldError{Field: field, Value: value, Message: message, Hint: hint})
}

// Addf is [Problems.Add] with a formatted message and no hint.
func (p *Problems) Addf(field string, value any, format string, args ...any) {
	p.Add(field, fmt.Sprint(value), fmt.Sprintf(format, args...), "")
}

// Nest takes over the faults of an inner value under a path.
func (p *Problems) Nest(path string, err error) {
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		p.Add(path, "", err.Error(), "")
		return
	}
	for _, f := range e.Fields {
		if path != "" {
			f.Field = path + "." + f.Field
		}
		*p = append(*p, f)
	}
}

// Err is an [Invalid] error with all faults, or nil when there is none. A name in message may be what is too long: it is cut.
func (p Problems) Err(message string) error {
	if len(p) == 0 {
		return nil
	}
	if shown, cut := CleanText(message, 3*shownValue); cut {
		message = shown + "…"
	}
	return &Error{Code: Invalid, Message: message, Fields: p}
}

// AddCron takes over what the time engine says about a text.
func (p *Problems) AddCron(field, value string, err error) {
	var ce *cron.Error
	if !errors.As(err, &ce) {
		p.Add(field, value, err.Error(), "")
		return
	}
	message := ce.Msg
	if ce.Field != "" && ce.Value != "" && ce.Value != value {
		message = fmt.Sprintf("%s %q %s", ce.Field, ce.Value, message)
	}
	if ce.Pos > 0 {
		message = fmt.Sprintf("column %d: %s", ce.Pos, message)
	}
	if ce.Seen != "" {
		message += "; understood so far: " + ce.Seen
	}
	p.Add(field, value, message, ce.Hint)
}
