// Package transport wakes remote workers: it sends tickets from the server to
// workers through a broker, such as SQS (package sqs) or NATS JetStream (package
// nats).
//
// A broker only notifies. A ticket says that a job is ready,
// and its holder may claim the job once. The row in the database is the lease;
// no acknowledgement at a broker ends or keeps a lease. So a message may come
// twice, late, in any order, or not at all:
//
//   - a second message of a job has a void ticket, and is dropped;
//   - after a lost message, [Dispatcher] sends another, because the job is still ready;
//   - an unreadable message is put aside for the operator.
//
// Workers acknowledge a message right after the claim, long before the job
// ends. So a broker's limit on how long a message may be held does not matter.
//
// A message of a broker contains nothing of the job, and is useless without
// a worker's session. Credentials come from the sources of the broker's tools,
// never from an address, so that addresses may be logged.
package transport

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Publisher is the side of the server.
type Publisher interface {
	// Publish sends tickets, each as a message. It returns the tickets that did not
	// arrive, or may not have arrived; they may be sent again. There is an error if
	// and only if such tickets are left.
	Publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error)
	Close() error
}

// Source is the side of the worker.
type Source interface {
	// Receive waits up to wait for the first message, and returns at most n
	// messages. No message is no error. The messages belong to the caller for
	// [Hold]; unless they are acknowledged in that time, they are delivered again.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Delivery, error)
	// Ack acknowledges messages, so that they are not delivered again.
	Ack(ctx context.Context, rs []job.Delivery) error
	// Later delivers messages again after d, at most [MaxLater].
	Later(ctx context.Context, rs []job.Delivery, d time.Duration) error
	Close() error
}

// Carrier is both sides of the broker of one queue, with its check and setup for
// the operator.
type Carrier interface {
	Publisher
	Source
	// Check checks that the broker is set up for Belfry: [core.Invalid] if a
	// person must mend it, [core.Unavailable] if it cannot be reached now.
	Check(ctx context.Context) error
	// Setup creates missing resources at the broker, and leaves existing ones unchanged.
	Setup(ctx context.Context) error
}

// Limits of messages at brokers.
const (
	// Hold is how long a received message is hidden from other workers. It covers
	// a claim, not a job.
	Hold = 30 * time.Second
	// MaxLater is the longest delay of a message.
	MaxLater = 15 * time.Minute
	// MinDeliveries is the minimum number of deliveries before a broker puts a
	// message aside as poison. Workers drop useless messages much earlier, because
	// the server sends others. A message that reaches the limit kills workers.
	MinDeliveries = 10
	// MaxMessage is the maximum size of a message that is read, in bytes.
	MaxMessage = 4 << 10
)
