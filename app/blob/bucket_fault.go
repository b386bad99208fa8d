package blob

import (
	"context"
	"errors"
	"net/http"

	"github.com/belfry-run/belfry/app/internal/awsfault"
	"github.com/belfry-run/belfry/core"
)

const bucketHint = "check the bucket, its region, the credentials and what they allow: s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket"

// fault translates what the SDK says, by status and code and never by text. A
// digest says that 404 means the artifact and not the bucket; a look at the
// head cannot tell the two apart.
func (b *Bucket) fault(doing, digest string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	status, code := awsfault.Answered(err)
	switch {
	case status == http.StatusNotFound && digest != "" && code != "NoSuchBucket":
		return notThere(digest)
	case status == http.StatusNotFound:
		return core.Errorf(core.Unavailable, "%s: there is no bucket %s", doing, b.place.Bucket).WithHint(bucketHint)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return core.Errorf(core.Unavailable, "%s: the service refuses the credentials of this node (%d %s)", doing, status, code).WithHint(bucketHint)
	case status != 0:
		return core.Errorf(core.Unavailable, "%s: the service answers %d %s", doing, status, code)
	}
	return core.Errorf(core.Unavailable, "%s: %w", doing, awsfault.Bare(err)).WithHint(bucketHint)
}
