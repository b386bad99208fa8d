// Package awsfault reads errors of the AWS SDK, by status and code, never by
// text, and makes transports that trust whom the SDK trusts. The bucket of
// artifacts and the broker SQS share it.
package awsfault

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// Carrier returns a transport for a client of our own beside that of the SDK. It trusts the same authorities, such as those of
// AWS_CA_BUNDLE.
func Carrier(settings aws.Config) *http.Transport {
	carrier := http.DefaultTransport.(*http.Transport).Clone()
	if sdk, is := settings.HTTPClient.(*awshttp.BuildableClient); is {
		carrier.TLSClientConfig = sdk.GetTransport().TLSClientConfig
	}
	return carrier
}

// Bare returns the error of a call without an answer, without the address of the call.
func Bare(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
