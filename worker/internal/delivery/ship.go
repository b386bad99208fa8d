package delivery

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// Delivery of logs.
const (
	logLinger   = 250 * time.Millisecond // how long lines wait for more lines
	maxLogBatch = 512 << 10              // bytes in one call, before cleaning
	appendWait  = 10 * time.Second       // timeout of one call
)

// Shipper delivers the logs of all attempts of a worker, one call at a time,
// so that the pieces of an attempt arrive in their order.
type Shipper struct {
	leaser job.Leaser
	log    *slog.Logger

	mu     sync.Mutex
	todo   []*Log        // logs with output to deliver
	wake   chan struct{} // there is output to deliver
	hurry  chan struct{} // a caller waits for the delivery
	outage patience.Outage
}

// NewShipper returns a shipper, which delivers while Run runs.
func NewShipper(b job.Leaser, log *slog.Logger) *Shipper {
	return &Shipper{
		leaser: b, log: log,
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		outage: patience.Outage{Log: log, What: "log pieces cannot be delivered"},
	}
}

// dirty queues l for delivery, without delay if hurry is set.
func (s *Shipper) dirty(l *Log, hurry bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.todo, l) {
		s.todo = append(s.todo, l)
	}
	signal(s.wake)
	if hurry {
		signal(s.hurry)
	}
}

// Run delivers until the context ends.
func (s *Shipper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.linger(ctx)
		s.deliver(ctx, s.takeTodo())
	}
}

func (s *Shipper) linger(ctx context.Context) {
	timer := time.NewTimer(logLinger)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.hurry:
	case <-timer.C:
	}
}

func (s *Shipper) takeTodo() []*Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	todo := s.todo
	s.todo = nil
	return todo
}

// logBatch is the output of one attempt in one call.
type logBatch struct {
	from   *Log
	pieces []job.LogPiece
	bytes  int
}

func (s *Shipper) deliver(ctx context.Context, todo []*Log) {
	var batch []logBatch
	size := 0
	for _, l := range todo {
		if len(batch) > 0 && (size >= maxLogBatch || batch[0].from.session != l.session) {
			s.send(ctx, batch)
			batch, size = nil, 0
		}
		p := logBatch{from: l}
		if p.pieces, p.bytes = l.take(); p.bytes > 0 {
			batch = append(batch, p)
			size += p.bytes
		}
	}
	s.send(ctx, batch)
}

// send tries until the output of each attempt has arrived, was refused, or has expired.
func (s *Shipper) send(ctx context.Context, batch []logBatch) {
	pause := patience.Backoff{First: 100 * time.Millisecond, Most: 2 * time.Second}
	for {
		if batch = dropExpired(batch, time.Now()); len(batch) == 0 {
			return
		}
		err := s.call(ctx, batch)
		s.outage.Saw(err)
		switch {
		case err == nil:
			done(batch, true)
			return
		case refused(err) && len(batch) > 1:
			for _, p := range batch { // find the refused output
				s.send(ctx, []logBatch{p})
			}
			return
		case refused(err) || ctx.Err() != nil:
			done(batch, false)
			return
		}
		pause.Sleep(ctx)
	}
}

func (s *Shipper) call(ctx context.Context, batch []logBatch) error {
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	var pieces []job.LogPiece
	for _, p := range batch {
		pieces = append(pieces, p.pieces...)
	}
	if len(pieces) == 0 { // NUL bytes only
		return nil
	}
	return s.leaser.Append(ctx, batch[0].from.session, pieces)
}

func done(batch []logBatch, delivered bool) {
	for _, p := range batch {
		p.from.sent(p.bytes, delivered)
	}
}

func dropExpired(batch []logBatch, now time.Time) []logBatch {
	return slices.DeleteFunc(batch, func(p logBatch) bool {
		if !p.from.expired(now) {
			return false
		}
		p.from.sent(p.bytes, false)
		return true
	})
}

// refused reports whether a retry of the same call cannot succeed.
func refused(err error) bool {
	switch core.CodeOf(err) {
	case core.Invalid, core.TooLarge:
		return true
	}
	return false
}
