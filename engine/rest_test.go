package engine_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/sqlite"
)

// toil is a store whose workflows always have more work, and want a rest after each pass.
type toil struct {
	engine.Store
	mu     sync.Mutex
	passes int
	woken  chan struct{}
}

const toilRest = 400 * time.Millisecond

func (t *toil) StartWorkflows(context.Context) (job.Promoted, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes++
	return job.Promoted{Jobs: 1, Now: time.Now(), Rest: toilRest}, nil
}

func (t *toil) WakeWorkflows(context.Context) (job.Promoted, error) { return job.Promoted{}, nil }

func (t *toil) Woken() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.woken
}

func (t *toil) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.woken)
	t.woken = make(chan struct{})
}

func TestWorkflowsRestBetweenPassesThoughWoken(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(dir, "belfry.db"), sqlite.Options{Synchronous: "NORMAL"})
		if err != nil {
			t.Fatal(err)
		}
		s := &toil{Store: st, woken: make(chan struct{})}
		e, err := engine.New(engine.Options{Store: s, Release: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		stop := loop(t, e.Run)
		const seconds = 4
		for range seconds * 20 {
			wait(time.Second / 20)
			s.wake()
		}
		stop()
		if most := int(seconds*time.Second/toilRest) + 1; s.passes < 2 || s.passes > most {
			t.Errorf("%d passes in %d seconds, want 2 to %d", s.passes, seconds, most)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}
