package nats

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
)

// How streams are made. A ticket that was not claimed within a day was published again
// many times.
const (
	keepTickets = 24 * time.Hour
	maxTickets  = 1_000_000
	keepDead    = 30 * 24 * time.Hour
	maxDead     = 10_000
	deliveries  = 20
	dedupe      = 2 * time.Minute
)

func (p Place) streams() []jetstream.StreamConfig {
	return []jetstream.StreamConfig{{
		Name: p.Stream, Subjects: []string{p.subject()}, Description: "Tickets of Belfry jobs that are ready",
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxAge: keepTickets, MaxMsgs: maxTickets,
		Duplicates: dedupe, Replicas: max(p.Replicas, 1),
	}, {
		Name: p.dead(), Subjects: []string{p.deadSubject(), p.advisory()}, Description: "Messages for Belfry that could not be read or were given up",
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxAge: keepDead, MaxMsgs: maxDead,
		Replicas: max(p.Replicas, 1),
	}}
}

func workers(hold time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: consumer, Description: "All workers of Belfry", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: hold, MaxDeliver: deliveries, MaxAckPending: 100_000, MaxWaiting: 10_000,
	}
}

// Setup makes the streams and the consumer, as far as they are missing.
func (s *Stream) Setup(ctx context.Context) error {
	if err := s.connected(ctx); err != nil {
		return err
	}
	for _, c := range s.place.streams() {
		_, err := s.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = s.js.CreateStream(ctx, c)
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s.fault("make "+c.Name+" for", err)
		}
	}
	_, err := s.js.Consumer(ctx, s.place.Stream, consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = s.js.CreateConsumer(ctx, s.place.Stream, workers(s.hold))
	}
	return s.fault("make the consumer of", err)
}

// Check asks for the stream and the consumer.
func (s *Stream) Check(ctx context.Context) error {
	if err := s.connected(ctx); err != nil {
		return err
	}
	stream, err := s.js.Stream(ctx, s.place.Stream)
	if err != nil {
		return s.fault("look at", err)
	}
	if c := stream.CachedInfo().Config; c.Retention != jetstream.WorkQueuePolicy || !slices.Contains(c.Subjects, s.place.subject()) {
		return s.unfit("it has not work-queue retention or does not take the subject " + s.place.subject())
	}
	found, err := s.js.Consumer(ctx, s.place.Stream, consumer)
	if err != nil {
		return s.fault("look at the consumer of", err)
	}
	switch c := found.CachedInfo().Config; {
	case c.AckPolicy != jetstream.AckExplicitPolicy:
		return s.unfit("its consumer has not the explicit acknowledgement policy")
	case c.MaxDeliver >= 0 && c.MaxDeliver < transport.MinDeliveries:
		return s.unfit("its consumer gives a message up after too few deliveries; workers put tickets off more often than that")
	case c.AckWait < s.hold/2:
		return s.unfit("its consumer waits too little for an acknowledgement")
	}
	return nil
}

func (s *Stream) unfit(why string) error {
	return core.Errorf(core.Invalid, "stream %s of NATS: %s", s.place.Stream, why).
		WithHint("take the name of a stream that does not exist yet, and: belfry broker setup")
}
