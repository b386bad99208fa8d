package blob

import (
	"context"
	"errors"
	"net/http"

	"github.com/belfry-run/belfry/app/internal/awsfault"
	"github.com/belfry-run/belfry/core"
)

const bucketHint = "check the bucket, its region, the credentials and what they allow: s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket"

// reachHint is for a service that gave no answer, or was not asked for lack of credentials.
const reachHint = "check the endpoint, its certificate, the network, and that this node has credentials: name a private authority with AWS_CA_BUNDLE, or add it to those of the system"

// fault translates an error of the SDK, by status and code, never by text. With
// a digest, 404 means a missing artifact, not a missing bucket; the answer to
// HEAD does not distinguish them.
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
	return core.Errorf(core.Unavailable, "%s: %w", doing, awsfault.Bare(err)).WithHint(reachHint)
}
