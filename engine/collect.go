package engine

import (
	"context"
	"time"
)

// Artifacts is a store that knows the references to artifacts.
type Artifacts interface {
	// PruneArtifacts deletes the records of unneeded artifacts.
	PruneArtifacts(ctx context.Context) (more bool, err error)
	// BeginRemoval returns the digests that may be removed now. Until EndRemoval,
	// no other caller can rely on their bytes.
	BeginRemoval(ctx context.Context, digests []string) ([]string, error)
	EndRemoval(ctx context.Context, digests []string) error
}

// Bytes is the storage of artifacts.
type Bytes interface {
	// Settled returns at most n digests after the digest after, of artifacts that
	// arrived before an instant. next is where the next call continues; it is
	// empty at the end.
	Settled(ctx context.Context, after string, n int, before time.Time) (digests []string, next string, err error)
	Delete(ctx context.Context, digest string) error
}

const (
	// collectPage is how many artifacts are judged together, and collectPages how
	// many such pages a pass judges.
	collectPage  = 200
	collectPages = 250
	// collectAge is the age below which bytes are kept. Correctness does not
	// depend on it; it only saves an upload that is about to be confirmed from
	// being sent twice.
	collectAge = time.Hour
	// removeWithin bounds the removal of one artifact, and removeAll the removal
	// of one page. A caller that relies on such an artifact waits as long. Ten
	// minutes after BeginRemoval the removing node counts as dead.
	removeWithin = time.Minute
	removeAll    = 5 * time.Minute
)

// collect prunes unneeded artifacts and removes unreferenced bytes. A pass
// covers a bounded part of a large store; the next pass continues there.
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

// remove deletes the bytes of unreferenced artifacts.
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
		if err != nil { // the other artifacts are removed all the same
			left, cause = left+1, err
			continue
		}
		removed++
	}
	if left > 0 && ctx.Err() == nil {
		e.opt.Logger.Warn("unreferenced artifacts could not be removed, trying again at the next check", "artifacts", left, "error", cause)
	}
	if removed > 0 {
		e.opt.Logger.Info("removed unreferenced artifacts", "artifacts", removed)
	}
	// Runs even when this node stops, so that other nodes need not wait until it counts as dead.
	return store.EndRemoval(context.WithoutCancel(ctx), free)
}
