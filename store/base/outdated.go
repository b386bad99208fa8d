package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// outdated has the error that this program is too old for the database, once that is known. It is permanent: schemas only go
// forward.
type outdated struct {
	mu  sync.Mutex
	err *core.Error
}

// schemaEvery is how often a process that writes nothing checks the schema. A process that writes finds out by the transition.
const schemaEvery = 500 * time.Millisecond

// Outdated is nil until this program is found to be too old for the database. From then on, every transition is refused with
// [core.ErrOutdated], waiting claims end, and workers are woken, so that they stop their attempts.
func (s *Store) Outdated() error { return s.outdated.as(core.Conflict) }

func (o *outdated) as(code core.Code) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	err := *o.err
	err.Code = code
	return &err
}

// SawOutdated checks an error for [core.ErrOutdated].
func (s *Store) SawOutdated(err error) {
	var refused *core.Error
	if !errors.Is(err, core.ErrOutdated) || !errors.As(err, &refused) {
		return
	}
	o := &s.outdated
	o.mu.Lock()
	news := o.err == nil
	if news {
		o.err = refused
	}
	o.mu.Unlock()
	if news {
		s.Opt.Logger.Error("this program is too old for its database and stops", "error", refused)
		s.Hub.wakeAnnounced("") // wakes all claims and sessions
	}
}

// followSchema returns the reason as soon as this program is too old.
func (s *Store) followSchema(ctx context.Context) error {
	again := time.NewTicker(schemaEvery)
	defer again.Stop()
	for {
		if schema, err := s.db.Schema(ctx); err == nil && !schema.Serves() {
			s.SawOutdated(schema.Refuse(core.Conflict))
		}
		if err := s.Outdated(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}
