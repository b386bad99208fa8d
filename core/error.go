package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/cron"
)

// Error is an error of Belfry: a code for machines, a sentence for people, and,
// for invalid input, the fields.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError // invalid inputs, in the order in which they were read
	Hint       string       // what to do next; may be empty
	RetryAfter Duration     // when to retry; 0: unknown
	Err        error        // the cause, never shown to remote callers
}

// Code is the machine-readable class of an [Error]. It maps to an HTTP status
// in httpapi and to an exit code in cmd/belfry, in one place each.
type Code string

// The codes. An expected conflict, such as an existing idempotency key or a lost
// lease, is a normal result and not an error.
const (
	Invalid      Code = "invalid"      // the input is invalid; Fields says where
	NotFound     Code = "not_found"    // the object does not exist, or not in this namespace
	Conflict     Code = "conflict"     // the object exists, or its state forbids the change
	Unauthorized Code = "unauthorized" // the token is missing or no longer valid
	Forbidden    Code = "forbidden"    // the token is valid but lacks the scope
	TooLarge     Code = "too_large"    // a body, batch or value exceeds its limit
	OverQuota    Code = "over_quota"   // a quota of the namespace is exhausted
	QueueFull    Code = "queue_full"   // a queue has reached its bound of waiting jobs
	Unavailable  Code = "unavailable"  // the database or server cannot be reached now
	Unknown      Code = "unknown"      // the change may have been made: its answer was lost
	Internal     Code = "internal"     // a fault of Belfry
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

// CodeOf returns the code of the first [Error] in err's chain, [Internal] if there is none, and "" for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

var refusals = []Code{Invalid, NotFound, Conflict, TooLarge, Forbidden, OverQuota, QueueFull}

// Refused reports whether the call changed nothing because the request was refused.
func Refused(err error) bool { return slices.Contains(refusals, CodeOf(err)) }

// Errorf returns an [Error] with a code and a formatted sentence. A %w verb keeps the cause in the chain.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}

// WithHint sets the hint, which says what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// InvalidField returns an [Invalid] error about one field.
func InvalidField(field, value, message, hint string) *Error {
	var p Problems
	p.Add(field, value, message, hint)
	return &Error{Code: Invalid, Message: "invalid input", Fields: p}
}

// Problems collects all problems of an input, so that a user can correct them at once.
type Problems []FieldError

// shownValue is the most bytes of a refused value in an error.
const shownValue = 120

// Add adds a problem of a field: its value, which is cut for display, the problem, and a hint.
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

// AtMost adds a problem if a list has more than most entries, and reports whether it has not.
func (p *Problems) AtMost(field string, n, most int) bool {
	if n > most {
		p.Addf(field, fmt.Sprint(n, " entries"), "has more than %d entries", most)
	}
	return n <= most
}

// Nest adds the problems of an inner value under a path.
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

// Err returns an [Invalid] error with all problems, or nil. It cuts message, which may contain a name that is too long.
func (p Problems) Err(message string) error {
	if len(p) == 0 {
		return nil
	}
	if shown, cut := CleanText(message, 3*shownValue); cut {
		message = shown + "…"
	}
	return &Error{Code: Invalid, Message: message, Fields: p}
}

// AddCron adds an error of package cron about a text.
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
