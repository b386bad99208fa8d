package sqs

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/belfry-run/belfry/app/internal/awsfault"
	"github.com/belfry-run/belfry/core"
)

const (
	setupHint  = "make it: belfry broker setup"
	accessHint = "check the region, the credentials and what they allow: sqs:GetQueueUrl, and sqs:SendMessage for nodes; sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility for workers"
)

// fault translates an error of the SDK.
func (q *Queue) fault(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	name := doing + " queue " + q.place.Queue + " of SQS"
	if errors.Is(err, context.DeadlineExceeded) {
		return core.Errorf(core.Unavailable, "%s: no answer in time: %w", name, context.DeadlineExceeded).WithHint(accessHint)
	}
	status, code := awsfault.Answered(err)
	var gone *types.QueueDoesNotExist
	switch {
	case errors.As(err, &gone):
		return core.Errorf(core.Invalid, "%s: it does not exist in %s", name, q.place.Region).WithHint(setupHint)
	case status == http.StatusUnauthorized || status == http.StatusForbidden || code == "AccessDenied":
		return core.Errorf(core.Unavailable, "%s: the service refuses the credentials (%d %s)", name, status, code).WithHint(accessHint)
	case status != 0:
		return core.Errorf(core.Unavailable, "%s: the service answers %d %s", name, status, code)
	}
	return core.Errorf(core.Unavailable, "%s: %w", name, awsfault.Bare(err)).WithHint(accessHint)
}

// refused names the entries of a batch that the service did not take.
func (q *Queue) refused(doing string, failed []types.BatchResultErrorEntry) (ids []string, err error) {
	if len(failed) == 0 {
		return nil, nil
	}
	for _, f := range failed {
		ids = append(ids, aws.ToString(f.Id))
	}
	return ids, core.Errorf(core.Unavailable, "%s queue %s of SQS: the service refuses %d of a batch (%s)",
		doing, q.place.Queue, len(failed), aws.ToString(failed[0].Code))
}
