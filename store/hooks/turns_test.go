package hooks

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestTurnsOfARow(t *testing.T) {
	t.Parallel()
	var of turns
	first, err := of.take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := of.take(t.Context(), 2)
	if err != nil {
		t.Fatalf("another row waits: %v", err)
	}
	other()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := of.take(gone, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("a caller that is gone has its turn: %v", err)
	}
	n := 0 // without a lock of its own
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			done, err := of.take(t.Context(), 1)
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
		t.Errorf("%d had their turn, and %d rows are kept", n, len(of.of))
	}
}
