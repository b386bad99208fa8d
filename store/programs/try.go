package programs

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// TryArtifacts stores, reads and deletes an artifact of a namespace, and reports whether that works.
func (s *Store) TryArtifacts(ctx context.Context, namespace string) (core.Check, error) {
	check := core.Check{Name: "artifacts"}
	bytes, err := s.Bytes()
	if err != nil {
		check.OK, check.Detail, check.Fix = true, "none are kept, so programs cannot be uploaded", hintOf(err)
		return check, nil
	}
	place, is := bytes.(interface {
		Try(ctx context.Context, namespace string) error
	})
	if !is {
		check.OK, check.Detail = true, "not tried"
		return check, nil
	}
	if err := place.Try(ctx, cmp.Or(namespace, core.DefaultNamespace)); err != nil {
		check.Detail = "cannot be stored: " + strings.TrimSuffix(err.Error(), " ("+hintOf(err)+")")
		check.Fix = cmp.Or(hintOf(err), "make the folder of artifacts writable for the user that runs the node")
		return check, ctx.Err()
	}
	check.OK, check.Detail = true, "bytes were stored, read and deleted"
	return check, nil
}

func hintOf(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return ""
	}
	if e.Hint == "" && len(e.Fields) > 0 {
		return e.Fields[0].Hint
	}
	return e.Hint
}
