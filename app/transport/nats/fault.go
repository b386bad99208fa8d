package nats

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-run/belfry/core"
)

const (
	setupHint  = "make it: belfry broker setup"
	accessHint = "check the servers, the credentials and what they allow, and that JetStream is on"
)

// stateWait is how long the client may take to say whether it is connected: it does not while it shakes hands.
const stateWait = time.Second

// connected reports that the server is away, and why.
func (s *Stream) connected(ctx context.Context) error {
	state := make(chan error, 1)
	go func() { state <- s.state() }()
	timer := time.NewTimer(stateWait)
	defer timer.Stop()
	select {
	case err := <-state:
		return err
	case <-timer.C:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
	}
	return core.Errorf(core.Unavailable, "stream %s: NATS is not connected: the server takes the connection and does not say that it is NATS", s.place.Stream).
		WithHint(accessHint)
}

func (s *Stream) state() error {
	if s.conn.IsConnected() {
		return nil
	}
	if err := s.conn.LastError(); err != nil {
		return core.Errorf(core.Unavailable, "stream %s: NATS is not connected: %w", s.place.Stream, err).WithHint(accessHint)
	}
	return core.Errorf(core.Unavailable, "stream %s: NATS is not connected", s.place.Stream).WithHint(accessHint)
}

// fault translates an error of the client.
func (s *Stream) fault(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return core.Errorf(core.Unavailable, "%s stream %s of NATS: no answer in time: %w", doing, s.place.Stream, err).WithHint(accessHint)
	case isMissing(err):
		return core.Errorf(core.Invalid, "%s stream %s of NATS: it or its consumer does not exist", doing, s.place.Stream).WithHint(setupHint)
	}
	return core.Errorf(core.Unavailable, "%s stream %s of NATS: %w", doing, s.place.Stream, err).WithHint(accessHint)
}

// isMissing knows the ways in which JetStream says that there is nothing. The
// absence of anybody who answers is one: it looks the same while a cluster
// elects, and heals then.
func isMissing(err error) bool {
	for _, gone := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist,
		jetstream.ErrConsumerDeleted, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// isOver knows the ends of a wait in which nothing came.
func isOver(err error) bool {
	for _, end := range []error{nats.ErrTimeout, jetstream.ErrNoMessages, context.DeadlineExceeded, jetstream.ErrNoHeartbeat} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
