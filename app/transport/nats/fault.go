package nats

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-run/belfry/core"
)

const (
	setupHint  = "make it: belfry broker setup"
	accessHint = "check the servers, the credentials and what they allow, and that JetStream is on"
)

// connected says that the server is away, and why.
func (s *Stream) connected() error {
	if s.conn.IsConnected() {
		return nil
	}
	if err := s.conn.LastError(); err != nil {
		return core.Errorf(core.Unavailable, "stream %s: NATS is not connected: %w", s.place.Stream, err).WithHint(accessHint)
	}
	return core.Errorf(core.Unavailable, "stream %s: NATS is not connected", s.place.Stream).WithHint(accessHint)
}

// fault translates what the client says.
func (s *Stream) fault(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
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
