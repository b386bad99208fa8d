package forms

import (
	"context"

	"github.com/belfry-run/belfry/core"
)

// Change saves a definition with something changed. Another change
// between the two is a conflict, and not overwritten.
func Change[T interface{ Version() string }](ctx context.Context, read func() (T, error), change func(*T), save func(context.Context, T) (T, error)) (T, error) {
	v, err := read()
	if err != nil {
		return v, err
	}
	version := v.Version()
	change(&v)
	return save(core.WithVersion(ctx, version), v)
}
