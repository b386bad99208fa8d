package page

import (
	"context"
	"errors"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
)

// faultOf returns the fault of a fetched document that could not be read.
func faultOf(ctx context.Context, err error) *reach.Fault {
	switch {
	case errors.As(err, new(tooComplex)), errors.As(err, new(foreign)):
		return reach.Ours(task.CodeUnsupported, "%s", err)
	case errors.As(err, new(unreadable)):
		return reach.Failing(task.CodeBodyBroken, "%s", err)
	case errors.As(err, new(misused)):
		return reach.Ours(task.CodeConfig, "%s", err)
	case ctx.Err() != nil: // after the page was fetched
		return reach.Ours(task.CodeLate, "there was no time left to read the page within the timeout")
	}
	return reach.Ours(task.CodeInternal, "%s", err)
}

// fault returns the fault of a text, without a comparison.
func (out reading) fault() *reach.Fault {
	switch {
	case out.seen.Outcome == task.PageSelectorMissing && out.why != "":
		return reach.Failing(task.CodeSelectorMissing, "the selector finds nothing: %s", out.why)
	case out.seen.Outcome == task.PageSelectorMissing:
		return reach.Failing(task.CodeSelectorMissing, "the selector finds nothing on the page")
	case out.seen.Outcome == task.PageEmpty:
		return reach.Failing(task.CodeEmpty, "the page has no text where it is looked at")
	}
	return nil
}
