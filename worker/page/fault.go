package page

import (
	"context"
	"errors"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker/internal/reach"
)

// faultOf is what it means that a document that came could not be read.
func faultOf(ctx context.Context, err error) *reach.Fault {
	switch {
	case errors.As(err, new(tooComplex)), errors.As(err, new(foreign)):
		return reach.Ours(belfry.CodeUnsupported, "%s", err)
	case errors.As(err, new(unreadable)):
		return reach.Failing(belfry.CodeBodyBroken, "%s", err)
	case errors.As(err, new(misused)):
		return reach.Ours(belfry.CodeConfig, "%s", err)
	case ctx.Err() != nil: // the page had come by then
		return reach.Ours(belfry.CodeLate, "there was no time left to read the page within the timeout")
	}
	return reach.Ours(belfry.CodeInternal, "%s", err)
}

// fault is what a text means for the page by itself.
func (out reading) fault() *reach.Fault {
	switch {
	case out.seen.Outcome == belfry.PageSelectorMissing && out.why != "":
		return reach.Failing(belfry.CodeSelectorMissing, "the selector finds nothing: %s", out.why)
	case out.seen.Outcome == belfry.PageSelectorMissing:
		return reach.Failing(belfry.CodeSelectorMissing, "the selector finds nothing on the page")
	case out.seen.Outcome == belfry.PageEmpty:
		return reach.Failing(belfry.CodeEmpty, "the page has no text where it is looked at")
	}
	return nil
}
