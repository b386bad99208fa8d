// Package awsfault reads what the AWS SDK says went wrong, by status and code
// and never by text.
package awsfault

import (
	"errors"
	"net/url"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Answered is the status of an answer, 0 without one, and the code in it.
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

// Bare is why there was no answer, without the address that was asked.
func Bare(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
