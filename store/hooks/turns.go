package hooks

import (
	"context"
	"sync"
)

// turns has the callers of this process that need the same row go one after the other, without a transaction for each
// that waits. Its zero value works.
type turns struct {
	mu sync.Mutex
	of map[int64]*turn
}

// turn is one row, and how many have it or wait for it.
type turn struct {
	free  chan struct{}
	users int
}

// take waits for the turn of a row, which ends with done.
func (t *turns) take(ctx context.Context, id int64) (done func(), err error) {
	t.mu.Lock()
	one := t.of[id]
	if one == nil {
		if t.of == nil {
			t.of = map[int64]*turn{}
		}
		one = &turn{free: make(chan struct{}, 1)}
		t.of[id] = one
	}
	one.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.of, id)
		}
	}
	select {
	case one.free <- struct{}{}:
		return func() { <-one.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
