package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// pile is a storage of artifacts with the arrival time of each.
type pile struct {
	mu    sync.Mutex
	at    map[string]time.Time
	stuck string // digest that cannot be deleted
}

func (p *pile) put(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	p.at["default/"+digest] = time.Now()
	return digest
}

func (p *pile) has(digest string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.at["default/"+strings.TrimPrefix(digest, "default/")].IsZero()
}

func (p *pile) Settled(_ context.Context, after string, n int, before time.Time) (digests []string, next string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range slices.Sorted(maps.Keys(p.at)) {
		if d > after && p.at[d].Before(before) && len(digests) < n {
			digests = append(digests, d)
		}
	}
	if len(digests) == n {
		next = digests[n-1]
	}
	return digests, next, nil
}

func (p *pile) Delete(_ context.Context, digest string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if digest == p.stuck {
		return errors.New("the file cannot be removed")
	}
	delete(p.at, digest)
	return nil
}

func (p *pile) SignPut(context.Context, string, int64, time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{}, nil
}

func (p *pile) SignGet(context.Context, string, time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{}, nil
}

func (p *pile) Has(_ context.Context, digest string, _ int64) (bool, error) {
	return p.has(digest), nil
}
func (p *pile) Verify(context.Context, string, int64) error { return nil }

// still is a store in which only artifacts change. Simulating a day of the other
// loops would take seconds.
type still struct{ engine.Artifacts }

func (still) FireDue(context.Context) (job.Fired, error)        { return job.Fired{}, nil }
func (still) Promote(context.Context) (job.Promoted, error)     { return job.Promoted{}, nil }
func (still) ReleaseLost(context.Context) (job.Released, error) { return job.Released{}, nil }
func (still) Prune(context.Context) (more bool, err error)      { return false, nil }
func (still) Refill(context.Context) (more bool, err error)     { return false, nil }
func (still) Woken() <-chan struct{}                            { return nil }

func TestBytesThatNothingRefersToAreRemovedAndOthersNot(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := &pile{at: map[string]time.Time{}}
		st, err := sqlite.Open(ctx, filepath.Join(dir, "belfry.db"), sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Bytes: p}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(engine.Options{Store: still{st}, Bytes: p, Release: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		nobodys := p.put("nobody's")
		var many []string
		for i := range 500 { // more than a page
			many = append(many, p.put(time.Duration(i).String()))
		}
		named, announced := p.put("named"), p.put("announced")
		if _, err := st.CreateTask(ctx, task.Task{Name: "t", Program: &task.Program{SHA256: named, Size: 5}}); err != nil {
			t.Fatal(err)
		}
		for _, digest := range []string{named, announced} {
			if _, err := st.CreateArtifact(ctx, task.Artifact{SHA256: digest, Size: 5}); err != nil {
				t.Fatal(err)
			}
		}
		p.stuck = "default/" + slices.Min(many)
		time.Sleep(30 * time.Minute)
		if !p.has(nobodys) {
			t.Error("a new artifact was removed, want it kept")
		}
		time.Sleep(2 * time.Hour)
		if p.has(nobodys) || slices.ContainsFunc(many, func(digest string) bool { return "default/"+digest != p.stuck && p.has(digest) }) {
			t.Error("an unreferenced artifact after one that cannot be removed was kept, want it removed")
		}
		if !p.has(named) || !p.has(announced) {
			t.Error("an artifact of a task, or with a pending upload, was removed, want it kept")
		}
		time.Sleep(25 * time.Hour)
		if p.has(announced) {
			t.Error("an artifact with an upload pending for a day was kept, want it removed")
		}
		if err := st.DeleteTask(ctx, "default", "t"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		if !p.has(named) {
			t.Error("an artifact was removed 20h after its task, want it kept for a day")
		}
		time.Sleep(6 * time.Hour)
		if p.has(named) {
			t.Error("an unreferenced artifact was kept, want it removed")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}
