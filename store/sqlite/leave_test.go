package sqlite_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// leaving is a context that ends when it is looked at for the n-th time.
type leaving struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func leaveAt(ctx context.Context, n int) *leaving {
	return &leaving{Context: ctx, left: n, done: make(chan struct{})}
}

func (l *leaving) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left == 0 {
		close(l.done)
	}
	return l.done
}

func (l *leaving) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left <= 0 {
		return context.Canceled
	}
	return nil
}

// A caller that leaves at whatever step of a read takes no connection with it.
func TestACanceledReadReturnsItsConnection(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for range 50 {
		for n := range 40 { // more looks than there are
			ctx := leaveAt(t.Context(), n+1)
			_ = st.DB().Read(ctx, func(tx base.Tx) error { _, err := queues(ctx, tx); return err })
		}
		for range 5 { // one after the other: more than there are connections
			if err := st.DB().Read(t.Context(), func(tx base.Tx) error { _, err := queues(t.Context(), tx); return err }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A connection on which something was left open is not asked again.
func TestAReadOnAConnectionThatWasLeftOpen(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := sqlite.LeaveOpen(t.Context(), st.DB()); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if err := st.DB().Read(t.Context(), func(tx base.Tx) error { _, err := queues(t.Context(), tx); return err }); err != nil {
			t.Fatal(err)
		}
	}
}
