package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
)

// Exit codes. Scripts rely on them, so they never change.
const (
	ExitOK           = 0
	ExitFailed       = 1 // the job failed, a check failed, or anything not listed
	ExitUsage        = 2
	ExitNotFound     = 3
	ExitConflict     = 4
	ExitUnauthorized = 5
	ExitUnavailable  = 6
	ExitInternal     = 7
	ExitNothing      = 8 // belfry worker init found no job
	ExitUnknown      = 9 // the answer to a change was lost
	ExitOverQuota    = 10
	ExitQueueFull    = 11
)

// ExitHelp tells the exit codes.
const ExitHelp = `Exit codes:
  0  done
  1  the job, check or comparison did not come out well; or anything else
  2  wrong usage, or input that was refused
  3  not found
  4  conflict: it exists already, or its state forbids this
  5  no valid token, or not the right to do this
  6  the server or database cannot be reached now
  7  a fault of Belfry itself
  8  belfry worker init found no job
  9  the outcome is unknown: the answer to a change was lost, and it may have been made
 10  a quota of the namespace has no room for it now
 11  a queue has as many jobs waiting as it may`

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	var status ExitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	var be *core.Error
	if err != nil && !errors.As(err, &be) {
		return ExitFailed
	}
	switch core.CodeOf(err) {
	case "":
		return ExitOK
	case core.Invalid, core.TooLarge:
		return ExitUsage
	case core.NotFound:
		return ExitNotFound
	case core.Conflict:
		return ExitConflict
	case core.Unauthorized, core.Forbidden:
		return ExitUnauthorized
	case core.OverQuota:
		return ExitOverQuota
	case core.QueueFull:
		return ExitQueueFull
	case core.Unavailable:
		return ExitUnavailable
	case core.Unknown:
		return ExitUnknown
	}
	return ExitInternal
}

// ExitStatus ends the program with a code and no error text: the command has
// already printed the result on stdout.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// report writes an error for people: its message, fields and hint.
func report(w io.Writer, err error, color bool) {
	var status ExitStatus
	if err == nil || errors.As(err, &status) {
		return
	}
	paint := painter(color)
	label := paint(StyleBad, "error:")
	var fe *config.FileError
	var be *core.Error
	switch {
	case errors.As(err, &fe):
		fmt.Fprintf(w, "%s %s is not valid\n", label, fe.What)
		for _, f := range fe.Faults {
			reportFault(w, f)
		}
		if fe.More > 0 {
			fmt.Fprintf(w, "  and %d more\n", fe.More)
		}
	case errors.As(err, &be):
		fmt.Fprintf(w, "%s %s\n", label, message(err, be))
		for _, f := range be.Fields {
			fmt.Fprintf(w, "  %s\n", f)
		}
		if be.Hint != "" {
			fmt.Fprintf(w, "try: %s\n", strings.TrimPrefix(be.Hint, "see: "))
		}
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(w, "%s interrupted\n", label)
	default:
		fmt.Fprintf(w, "%s %s\n", label, err)
	}
}

// message returns the message of an error with the context of its wrappers.
func message(err error, be *core.Error) string {
	around, _, found := strings.Cut(err.Error(), be.Error())
	if found && around != "" {
		return around + be.Message
	}
	if be.Message == "" {
		return string(be.Code)
	}
	return be.Message
}

func reportFault(w io.Writer, f config.Fault) {
	if f.Place.File == "" {
		fmt.Fprintf(w, "  %s\n", f.FieldError)
		return
	}
	text := f.FieldError.String()
	fmt.Fprintf(w, "  %s: %s\n", f.Place, strings.TrimPrefix(text, ": "))
	for line := range strings.Lines(f.Excerpt) {
		fmt.Fprintf(w, "    %s", line)
	}
	if f.Excerpt != "" {
		fmt.Fprintln(w)
	}
}
