package base

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Bytes is where artifacts lie. Package blob has it; app plugs it in. A name is a
// namespace, a slash and a digest: bytes that one namespace has sent are not
// there for another, which so learns nothing of them and gets none.
type Bytes interface {
	// SignPut makes a link that takes exactly these bytes.
	SignPut(ctx context.Context, name string, size int64, expires time.Duration) (task.SignedRequest, error)
	// SignGet makes a link that gives them.
	SignGet(ctx context.Context, name string, expires time.Duration) (task.SignedRequest, error)
	// Has tells whether bytes of this size are there, without reading them.
	Has(ctx context.Context, name string, size int64) (bool, error)
	// Verify makes sure that exactly these bytes are there: [core.NotFound] or
	// [core.Conflict] otherwise.
	Verify(ctx context.Context, name string, size int64) error
}
