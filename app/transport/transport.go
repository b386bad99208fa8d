// Package transport rings for workers: it carries tickets from the server to
// workers elsewhere through a broker, such as SQS (package sqs) or NATS
// JetStream (package nats).
//
// A broker is a doorbell and nothing more. A ticket says that a job is ready and
// lets its bearer claim it once; the row in the database is the lease, and no
// acknowledgement of a broker ends or keeps one. So a message may come twice,
// late, in any order, or not at all:
//
//   - a second message of a job finds its ticket void, and is dropped;
//   - a lost one is rung again by [Ringer], because its job is still ready;
//   - one that cannot be read is put aside where a person finds it.
//
// Workers acknowledge a message right after the claim and long before the job
// ends, so no limit of a broker on how long a message may be held matters.
//
// A message of a broker says nothing about the job, and is of no use without
// a worker's session. Credentials come from where the tools of the broker
// take them, and never from an address, so that addresses may be logged.
package transport

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Publisher is the server's end.
type Publisher interface {
	// Publish sends tickets, each as a message. It answers those which did not
	// arrive, or for which it does not know; there are some exactly if there is an
	// error, and they may be sent again.
	Publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error)
	Close() error
}

// Source is the worker's end.
type Source interface {
	// Receive waits for the first message, up to wait, and answers at most n that
	// are there. None is no error. The messages belong to the caller for
	// [Hold], and are delivered again unless they are acknowledged before.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Ring, error)
	// Ack says that messages need not come again.
	Ack(ctx context.Context, rs []job.Ring) error
	// Later lets messages come again after d, which is bounded by [MaxLater].
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
	Close() error
}

// Carrier is both ends of the way to the workers of one queue, and what an
// operator does to it.
type Carrier interface {
	Publisher
	Source
	// Check says whether the broker is as Belfry needs it: [core.Invalid] if a
	// person must do something, [core.Unavailable] if it cannot be asked now.
	Check(ctx context.Context) error
	// Setup makes what is missing at the broker, and leaves alone what is there.
	Setup(ctx context.Context) error
}

// How brokers are used.
const (
	// Hold is how long a message that was received is kept from others. It covers
	// a claim, not a job.
	Hold = 30 * time.Second
	// MaxLater is how far a message can be put off.
	MaxLater = 15 * time.Minute
	// MinDeliveries is how often a broker must at least deliver a message before
	// it puts it aside as poison. Workers drop what they could not use long before,
	// because the server rings again; what reaches the limit kills workers.
	MinDeliveries = 10
	// MaxMessage is the size of a message that is looked at, in bytes.
	MaxMessage = 4 << 10
)
