package engine

import (
	"context"
	"time"
)

// Artifacts is a store that knows who needs which artifacts.
type Artifacts interface {
	// PruneArtifacts gives up unneeded artifacts.
	PruneArtifacts(ctx context.Context) (more bool, err error)
	// BeginRemoval answers which of some digests may be removed now, and keeps
	// others from relying on their bytes until EndRemoval.
	BeginRemoval(ctx context.Context, digests []string) ([]string, error)
	EndRemoval(ctx context.Context, digests []string) error
}

// Bytes is where artifacts lie.
type Bytes interface {
	// Settled returns the digests of the next artifacts, at most n, that came in
	// before an instant, and where to go on; empty at the end.
	Settled(ctx context.Context, after string, n int, before time.Time) (digests []string, next string, err error)
	Delete(ctx context.Context, digest string) error
}

const (
	// collectPage is how many artifacts are judged together, and collectPages how
	// many times that a pass does.
	collectPage  = 200
	collectPages = 250
	// collectAge is how long bytes are left alone after they came in. Nothing
	// rests on it; it only spares an upload that is about to be confirmed a
	// second one.
	collectAge = time.Hour
	// removeWithin bounds the removal of one, and removeAll that of those that
	// were begun together. A caller that relies on one waits as long, and ten
	// minutes after the begin the node that removes counts as dead.
	removeWithin = time.Minute
	removeAll    = 5 * time.Minute
)

// collect gives up unneeded artifacts, and removes bytes that nothing refers to.
// A pass does a bounded part of a large store, and the next goes on.
func (e *Engine) collect(store Artifacts) pass {
	after := ""
	return func(ctx context.Context) (time.Duration, error) {
		for more := true; more; {
			var err error
			if more, err = store.PruneArtifacts(ctx); err != nil {
				return e.opt.Collect, err
			}
		}
		if e.opt.Bytes == nil {
			return e.opt.Collect, nil
		}
		for range collectPages {
			digests, next, err := e.opt.Bytes.Settled(ctx, after, collectPage, time.Now().Add(-collectAge))
			if err == nil {
				err = e.remove(ctx, store, digests)
			}
			if err != nil {
				return e.opt.Collect, err
			}
			if after = next; after == "" {
				break
			}
		}
		return e.opt.Collect, nil
	}
}

// remove removes those of some artifacts that nothing refers to.
func (e *Engine) remove(ctx context.Context, store Artifacts, digests []string) error {
	if len(digests) == 0 {
		return nil
	}
	free, err := store.BeginRemoval(ctx, digests)
	if err != nil || len(free) == 0 {
		return err
	}
	removed, left := 0, 0
	var cause error
	begun, stop := context.WithTimeout(ctx, removeAll)
	defer stop()
	for _, digest := range free {
		removing, cancel := context.WithTimeout(begun, removeWithin)
		err := e.opt.Bytes.Delete(removing, digest)
		cancel()
		if err != nil { // one that cannot be removed holds up no other
			left, cause = left+1, err
			continue
		}
		removed++
	}
	if left > 0 && ctx.Err() == nil {
		e.opt.Logger.Warn("artifacts that nothing refers to could not be removed, they are tried again with the next look", "artifacts", left, "error", cause)
	}
	if removed > 0 {
		e.opt.Logger.Info("removed artifacts that nothing refers to", "artifacts", removed)
	}
	// Also when this node stops: the others need not wait until it counts as dead.
	return store.EndRemoval(context.WithoutCancel(ctx), free)
}
