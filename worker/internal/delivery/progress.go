package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

// ProgressSender delivers the last progress of each attempt, all in one call, at most once in [job.ProgressPace].
type ProgressSender struct {
	leaser job.ProgressKeeper // nil: the server keeps no progress

	sending chan struct{} // one call at a time, so that none overtakes another

	mu   sync.Mutex
	todo map[string]map[job.Ref]job.Progress // by session
	wake chan struct{}
}

// NewProgressSender returns a sender. If the server keeps no progress, the sender drops it.
func NewProgressSender(b job.Leaser) *ProgressSender {
	keeper, _ := b.(job.ProgressKeeper)
	return &ProgressSender{leaser: keeper, todo: map[string]map[job.Ref]job.Progress{}, wake: make(chan struct{}, 1), sending: make(chan struct{}, 1)}
}

// Put sets the progress of an attempt. It replaces a progress that still waits.
func (p *ProgressSender) Put(session string, ref job.Ref, g job.Progress) {
	if p.leaser == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.todo[session] == nil {
		p.todo[session] = map[job.Ref]job.Progress{}
	}
	p.todo[session][ref] = g
	signal(p.wake)
}

// Run delivers until the context ends.
func (p *ProgressSender) Run(ctx context.Context) {
	timer := time.NewTimer(job.ProgressPace)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		p.deliver(ctx, nil)
		timer.Reset(job.ProgressPace)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// flushWait is how long the end of an attempt waits for its last progress.
const flushWait = 2 * time.Second

// Flush delivers the last progress of an attempt, before its result ends the lease.
func (p *ProgressSender) Flush(ref job.Ref) {
	p.mu.Lock()
	waits := false
	for _, of := range p.todo {
		_, is := of[ref]
		waits = waits || is
	}
	p.mu.Unlock()
	if waits {
		ctx, cancel := context.WithTimeout(context.Background(), flushWait)
		defer cancel()
		p.deliver(ctx, &ref)
	}
}

// deliver sends the waiting progress of one attempt, or of all. A failed call is not repeated: newer progress follows.
func (p *ProgressSender) deliver(ctx context.Context, only *job.Ref) {
	select {
	case p.sending <- struct{}{}:
		defer func() { <-p.sending }()
	case <-ctx.Done():
		return
	}
	for session, ps := range p.take(only) {
		call, cancel := context.WithTimeout(ctx, flushWait)
		_ = p.leaser.SaveProgress(call, session, ps)
		cancel()
	}
}

func (p *ProgressSender) take(only *job.Ref) map[string][]job.AttemptProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string][]job.AttemptProgress{}
	for session, of := range p.todo {
		for ref, g := range of {
			if only == nil || ref == *only {
				out[session] = append(out[session], job.AttemptProgress{Ref: ref, Progress: g})
				delete(of, ref)
			}
		}
		if len(of) == 0 {
			delete(p.todo, session)
		}
	}
	return out
}
