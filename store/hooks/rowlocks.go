package hooks

import (
	"context"
	"sync"
)

// rowLocks is a mutex for each row, held within this process. Callers that need the same row wait for it without a transaction.
// The zero value is ready to use.
type rowLocks struct {
	mu sync.Mutex
	of map[int64]*rowLock
}

// rowLock is the mutex of one row. users counts the callers that hold it or wait for it.
type rowLock struct {
	free  chan struct{}
	users int
}

// lock locks a row until done is called.
func (t *rowLocks) lock(ctx context.Context, id int64) (done func(), err error) {
	t.mu.Lock()
	one := t.of[id]
	if one == nil {
		if t.of == nil {
			t.of = map[int64]*rowLock{}
		}
		one = &rowLock{free: make(chan struct{}, 1)}
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
