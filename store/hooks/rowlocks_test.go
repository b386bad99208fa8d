package hooks

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestRowLocks(t *testing.T) {
	t.Parallel()
	var of rowLocks
	first, err := of.lock(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := of.lock(t.Context(), 2)
	if err != nil {
		t.Fatalf("lock of another row: %v", err)
	}
	other()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := of.lock(gone, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("lock with a canceled context: got %v, want context.Canceled", err)
	}
	n := 0 // guarded by the row lock alone
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			done, err := of.lock(t.Context(), 1)
			if err != nil {
				t.Error(err)
				return
			}
			n++
			done()
		})
	}
	first()
	all.Wait()
	if n != 20 || len(of.of) != 0 {
		t.Errorf("got %d callers with the lock and %d rows kept, want 20 and 0", n, len(of.of))
	}
}
