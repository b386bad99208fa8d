package blob

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/belfry-run/belfry"
)

const bucketHint = "check the bucket, its region, the credentials and what they allow: s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket"

// fault translates what the SDK says, by status and code and never by text. A
// digest says that 404 means the artifact and not the bucket; a look at the
// head cannot tell the two apart.
func (b *Bucket) fault(doing, digest string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	status, code := answered(err)
	switch {
	case status == http.StatusNotFound && digest != "" && code != "NoSuchBucket":
		return notThere(digest)
	case status == http.StatusNotFound:
		return belfry.Errorf(belfry.Unavailable, "%s: there is no bucket %s", doing, b.place.Bucket).WithHint(bucketHint)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return belfry.Errorf(belfry.Unavailable, "%s: the service refuses the credentials of this node (%d %s)", doing, status, code).WithHint(bucketHint)
	case status != 0:
		return belfry.Errorf(belfry.Unavailable, "%s: the service answers %d %s", doing, status, code)
	}
	return belfry.Errorf(belfry.Unavailable, "%s: %w", doing, bare(err)).WithHint(bucketHint)
}

// answered is the status of an answer, 0 without one, and the code in it.
func answered(err error) (status int, code string) {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	var fault smithy.APIError
	if errors.As(err, &fault) {
		code = fault.ErrorCode()
	}
	return status, code
}

// bare is why there was no answer, without the address that was asked.
func bare(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
