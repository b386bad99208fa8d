// Package sqs carries tickets through a standard queue of SQS, or of a service
// that speaks its protocol.
//
// The queue has a dead-letter queue, where messages go that came
// [transport.MinDeliveries] times or more and were never acknowledged: those that
// cannot be read, which [Queue.Receive] leaves alone, and those at which workers
// die. Nothing reads it; an alarm on its length tells a person.
//
// Credentials come from where the AWS tools take them. A node needs
// sqs:GetQueueUrl and sqs:SendMessage; a worker sqs:GetQueueUrl,
// sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility; a check
// sqs:GetQueueAttributes besides; a setup sqs:CreateQueue and
// sqs:SetQueueAttributes.
package sqs

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	api "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/belfry-run/belfry/app/internal/awsfault"
	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/job"
)

// Options of a queue. The zero value works.
type Options struct {
	// Hold is how long a message that was received is kept from others. Whole
	// seconds. Default: [transport.Hold].
	Hold time.Duration
	// Logger is told of messages that cannot be read. Default: none.
	Logger *slog.Logger
}

// Queue is a standard queue of SQS.
type Queue struct {
	place  Place
	hold   time.Duration
	log    *slog.Logger
	client *api.Client
	http   *http.Transport

	mu  sync.Mutex
	url string // once it was found
}

var _ transport.Carrier = (*Queue)(nil)

// Limits of SQS.
const (
	maxBatch = 10               // messages in one call
	maxWait  = 20 * time.Second // of a receive
	lanes    = 4                // calls at the same time, of one operation

	// answerWait is how long the service may take to answer, besides the wait that it is asked for.
	answerWait = 10 * time.Second
)

// Open finds the credentials. It does not ask the service, so that a program
// starts while that is away: see [Queue.Check].
func Open(ctx context.Context, place Place, o Options) (*Queue, error) {
	if err := place.check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Hold == 0 {
		o.Hold = transport.Hold
	}
	settings, err := awsconfig.LoadDefaultConfig(ctx, func(l *awsconfig.LoadOptions) error {
		l.Region = place.Region
		return nil
	})
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the settings of the AWS tools cannot be read: %w", err)
	}
	carrier := awsfault.Carrier(settings)
	client := api.NewFromConfig(settings, func(so *api.Options) {
		so.HTTPClient = &http.Client{Transport: exchange.Transport{RoundTripper: carrier}} // without a timeout: a receive waits, and each call has a context
		if place.Endpoint != "" {
			so.BaseEndpoint = &place.Endpoint
		}
	})
	return &Queue{place: place, hold: o.Hold, log: o.Logger, client: client, http: carrier}, nil
}

// Close ends connections that are not in use.
func (q *Queue) Close() error {
	q.http.CloseIdleConnections()
	return nil
}

// find asks for the queue's URL, once.
func (q *Queue) find(ctx context.Context) (*string, error) {
	q.mu.Lock()
	known := q.url
	q.mu.Unlock()
	if known != "" {
		return &known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	out, err := q.client.GetQueueUrl(ctx, &api.GetQueueUrlInput{QueueName: &q.place.Queue})
	if err != nil {
		return nil, q.fault("look for", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.url = aws.ToString(out.QueueUrl)
	return &q.url, nil
}

// Publish sends tickets.
func (q *Queue) Publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	url, err := q.find(ctx)
	if err != nil {
		return ts, err
	}
	return inBatches(ts, func(part []job.Ticket) ([]string, error) {
		entries := make([]types.SendMessageBatchRequestEntry, len(part))
		for i, t := range part {
			entries[i] = types.SendMessageBatchRequestEntry{Id: id(i), MessageBody: aws.String(string(transport.Encode(t)))}
		}
		out, err := q.client.SendMessageBatch(ctx, &api.SendMessageBatchInput{QueueUrl: url, Entries: entries})
		if err != nil {
			return nil, q.fault("send to", err)
		}
		return q.refused("send to", out.Failed)
	})
}

// Receive takes messages. One that cannot be read is logged and left for the
// dead-letter queue.
func (q *Queue) Receive(ctx context.Context, n int, wait time.Duration) ([]job.Delivery, error) {
	url, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	var deliveries []job.Delivery
	for left := n; left > 0; {
		ask := min(left, maxBatch)
		out, err := q.ask(ctx, url, ask, min(wait, maxWait))
		if err != nil && len(deliveries) > 0 {
			return deliveries, nil // received messages must be used; the error will come again
		}
		if err != nil {
			return nil, q.fault("receive from", err)
		}
		for _, m := range out.Messages {
			if r, ok := q.read(m); ok {
				deliveries = append(deliveries, r)
			}
		}
		left -= len(out.Messages)
		wait = 0
		if len(out.Messages) < ask {
			break
		}
	}
	return deliveries, nil
}

// ask is one receive. A worker listens for as long as it lives, so the call has an end of its own.
func (q *Queue) ask(ctx context.Context, url *string, n int, wait time.Duration) (*api.ReceiveMessageOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerWait)
	defer cancel()
	return q.client.ReceiveMessage(ctx, &api.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: int32(n), VisibilityTimeout: int32(q.hold.Seconds()), WaitTimeSeconds: int32(wait.Seconds()),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
}

func (q *Queue) read(m types.Message) (job.Delivery, bool) {
	times, _ := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	t, err := transport.Decode([]byte(aws.ToString(m.Body)))
	if err != nil {
		if times <= 1 { // it comes back until it is dead
			q.log.Warn("message of broker cannot be read and is left for the dead-letter queue",
				"broker_queue", q.place.Queue, "message", aws.ToString(m.MessageId), "why", err)
		}
		return job.Delivery{}, false
	}
	return job.Delivery{Ticket: t, Count: times, Receipt: aws.ToString(m.ReceiptHandle)}, true
}

// Ack deletes messages.
func (q *Queue) Ack(ctx context.Context, rs []job.Delivery) error {
	url, err := q.find(ctx)
	if err != nil {
		return err
	}
	_, err = inBatches(rs, func(part []job.Delivery) ([]string, error) {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(part))
		for i, r := range part {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: id(i), ReceiptHandle: aws.String(r.Receipt)}
		}
		out, err := q.client.DeleteMessageBatch(ctx, &api.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})
		if err != nil {
			return nil, q.fault("delete from", err)
		}
		return q.refused("delete from", out.Failed)
	})
	return err
}

// Later makes messages visible again after d.
func (q *Queue) Later(ctx context.Context, rs []job.Delivery, d time.Duration) error {
	url, err := q.find(ctx)
	if err != nil {
		return err
	}
	seconds := int32((min(max(d, 0), transport.MaxLater) + time.Second - 1) / time.Second)
	_, err = inBatches(rs, func(part []job.Delivery) ([]string, error) {
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(part))
		for i, r := range part {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{Id: id(i), ReceiptHandle: aws.String(r.Receipt), VisibilityTimeout: seconds}
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, &api.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: entries})
		if err != nil {
			return nil, q.fault("put off at", err)
		}
		return q.refused("put off at", out.Failed)
	})
	return err
}

func id(i int) *string { return aws.String(strconv.Itoa(i)) }

// inBatches makes calls of at most ten items each, a few at a time, and answers
// the items that a call failed or refused. One error stands for all.
func inBatches[T any](items []T, call func(part []T) (refused []string, err error)) (left []T, err error) {
	var (
		mu     sync.Mutex
		calls  sync.WaitGroup
		places = make(chan struct{}, lanes)
	)
	for part := range slices.Chunk(items, maxBatch) {
		places <- struct{}{}
		calls.Go(func() {
			defer func() { <-places }()
			refused, failed := call(part)
			if failed == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			err = failed
			if refused == nil {
				left = append(left, part...)
			}
			for _, name := range refused {
				if i, bad := strconv.Atoi(name); bad == nil && i < len(part) {
					left = append(left, part[i])
				}
			}
		})
	}
	calls.Wait()
	return left, err
}
