package base

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Bytes stores artifacts. Package blob implements it; app plugs it in. A name is a namespace, a slash and a digest. So bytes that
// one namespace has uploaded do not exist for another, which cannot learn of them or read them.
type Bytes interface {
	// SignPut makes a link that accepts exactly these bytes.
	SignPut(ctx context.Context, name string, size int64, expires time.Duration) (task.SignedRequest, error)
	// SignGet makes a link that serves these bytes.
	SignGet(ctx context.Context, name string, expires time.Duration) (task.SignedRequest, error)
	// Has reports whether bytes of this size exist, without reading them.
	Has(ctx context.Context, name string, size int64) (bool, error)
	// Verify checks that exactly these bytes exist; otherwise it returns [core.NotFound] or [core.Conflict].
	Verify(ctx context.Context, name string, size int64) error
}
