package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Teller delivers how far attempts are: the last that each said, all in one call, at most once in [job.ProgressPace].
type Teller struct {
	broker job.ProgressKeeper // nil: progress is not kept

	sending chan struct{} // one call at a time, so that none overtakes another

	mu   sync.Mutex
	todo map[string]map[job.Ref]job.Progress // by session
	wake chan struct{}
}

func NewTeller(b job.Leaser) *Teller {
	keeper, _ := b.(job.ProgressKeeper)
	return &Teller{broker: keeper, todo: map[string]map[job.Ref]job.Progress{}, wake: make(chan struct{}, 1), sending: make(chan struct{}, 1)}
}

// Tell takes the place of what the attempt said before.
func (t *Teller) Tell(session string, ref job.Ref, g job.Progress) {
	if t.broker == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.todo[session] == nil {
		t.todo[session] = map[job.Ref]job.Progress{}
	}
	t.todo[session][ref] = g
	signal(t.wake)
}

// Run delivers until the context ends.
func (t *Teller) Run(ctx context.Context) {
	timer := time.NewTimer(job.ProgressPace)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		t.deliver(ctx, nil)
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

// Flush delivers what an attempt said last, before its result ends the lease.
func (t *Teller) Flush(ref job.Ref) {
	t.mu.Lock()
	waits := false
	for _, of := range t.todo {
		_, is := of[ref]
		waits = waits || is
	}
	t.mu.Unlock()
	if waits {
		ctx, cancel := context.WithTimeout(context.Background(), flushWait)
		defer cancel()
		t.deliver(ctx, &ref)
	}
}

// deliver sends the waiting progress, of one attempt or of all. A failed call is not repeated: the next progress takes its place.
func (t *Teller) deliver(ctx context.Context, only *job.Ref) {
	select {
	case t.sending <- struct{}{}:
		defer func() { <-t.sending }()
	case <-ctx.Done():
		return
	}
	for session, ps := range t.take(only) {
		call, cancel := context.WithTimeout(ctx, flushWait)
		_ = t.broker.SaveProgress(call, session, ps)
		cancel()
	}
}

func (t *Teller) take(only *job.Ref) map[string][]job.AttemptProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string][]job.AttemptProgress{}
	for session, of := range t.todo {
		for ref, g := range of {
			if only == nil || ref == *only {
				out[session] = append(out[session], job.AttemptProgress{Ref: ref, Progress: g})
				delete(of, ref)
			}
		}
		if len(of) == 0 {
			delete(t.todo, session)
		}
	}
	return out
}
