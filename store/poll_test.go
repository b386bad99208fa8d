package store_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// The other reports of claims do not matter here.
func (c *counting) Claimed(string, int) {}

func (c *counting) Waited(string, task.Kind, time.Duration) {}

func TestAClaimThatWaitsUnheardLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &counting{took: map[string]int{}}
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: store.Options{Observer: seen, Poll: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 5}, Wait: core.Duration(3 * time.Second)})
		if err != nil || c.Jobs == nil || len(c.Jobs) > 0 {
			t.Fatalf("claim: %v %v", c, err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("the claim waited %s, want 3s", waited)
		}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if got := seen.took["claim"]; got != 3 {
			t.Errorf("looks in 3s, with a poll of 1s and its jitter: got %d, want 3", got)
		}
	})
}
