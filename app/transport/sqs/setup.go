package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	api "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
)

// redrive is the redrive policy of SQS, which leads to the dead-letter queue.
type redrive struct {
	Target string `json:"deadLetterTargetArn"`
	Most   atoi   `json:"maxReceiveCount"`
}

// atoi is a number that the service may write as a string.
type atoi int

func (a *atoi) UnmarshalJSON(text []byte) error {
	n, err := strconv.Atoi(string(trimQuotes(text)))
	*a = atoi(n)
	return err
}

func trimQuotes(text []byte) []byte {
	if len(text) >= 2 && text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// Check asks for the queue and for its dead-letter queue.
func (q *Queue) Check(ctx context.Context) error {
	policy, err := q.redrive(ctx)
	if err != nil {
		return err
	}
	switch {
	case policy.Target == "":
		return core.Errorf(core.Invalid, "queue %s of SQS has no dead-letter queue: a message that nobody can read would come back for days", q.place.Queue).
			WithHint("give it one with a maxReceiveCount of at least %d, or: belfry broker setup", transport.MinDeliveries)
	case policy.Most < transport.MinDeliveries:
		return core.Errorf(core.Invalid, "queue %s of SQS gives a message up after %d deliveries; workers put tickets off more often than that", q.place.Queue, policy.Most).
			WithHint("set maxReceiveCount to at least %d", transport.MinDeliveries)
	}
	return nil
}

func (q *Queue) redrive(ctx context.Context) (policy redrive, err error) {
	url, err := q.find(ctx)
	if err != nil {
		return policy, err
	}
	out, err := q.client.GetQueueAttributes(ctx, &api.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameRedrivePolicy},
	})
	if err != nil {
		return policy, q.fault("look at", err)
	}
	text := out.Attributes[string(types.QueueAttributeNameRedrivePolicy)]
	if text == "" {
		return policy, nil
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return policy, core.Errorf(core.Unavailable, "the redrive policy of queue %s of SQS cannot be read: %w", q.place.Queue, err)
	}
	return policy, nil
}

// How queues are made. A ticket that was not claimed within a day was published again
// many times.
const (
	keepTickets = 24 * time.Hour
	keepDead    = 14 * 24 * time.Hour // the most there is
	deliveries  = 20
)

// Setup makes the queue and its dead-letter queue, if they are missing, and ties
// them together, if the queue has none.
func (q *Queue) Setup(ctx context.Context) error {
	_, err := q.find(ctx)
	switch core.CodeOf(err) {
	case "":
	case core.Invalid:
		if _, err := q.make(ctx, q.place.Queue, keepTickets); err != nil {
			return err
		}
	default:
		return err
	}
	policy, err := q.redrive(ctx)
	if err != nil || policy.Target != "" {
		return err
	}
	return q.tie(ctx)
}

func (q *Queue) make(ctx context.Context, name string, keep time.Duration) (url *string, err error) {
	out, err := q.client.CreateQueue(ctx, &api.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		string(types.QueueAttributeNameMessageRetentionPeriod): strconv.Itoa(int(keep.Seconds())),
	}})
	if err != nil {
		return nil, q.fault("make "+name+" for", err)
	}
	return out.QueueUrl, nil
}

func (q *Queue) tie(ctx context.Context) error {
	var url *string
	if out, err := q.client.GetQueueUrl(ctx, &api.GetQueueUrlInput{QueueName: &q.place.Dead}); err == nil {
		url = out.QueueUrl
	} else if url, err = q.make(ctx, q.place.Dead, keepDead); err != nil {
		return err
	}
	dead, err := q.client.GetQueueAttributes(ctx, &api.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return q.fault("look at "+q.place.Dead+" for", err)
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, dead.Attributes[string(types.QueueAttributeNameQueueArn)], deliveries)
	own, err := q.find(ctx)
	if err != nil {
		return err
	}
	_, err = q.client.SetQueueAttributes(ctx, &api.SetQueueAttributesInput{
		QueueUrl: own, Attributes: map[string]string{string(types.QueueAttributeNameRedrivePolicy): policy},
	})
	return q.fault("tie "+q.place.Dead+" to", err)
}
