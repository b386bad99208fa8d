// Package awsfault reads errors of the AWS SDK, by status and code, never by
// text. The bucket of artifacts and the broker SQS share it.
package awsfault

import (
	"errors"
	"net/url"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Answered returns the status of the answer, 0 without one, and its error code.
func Answered(err error) (status int, code string) {
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

// Bare returns the error of a call without an answer, without the address of the call.
func Bare(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
