package worker

import (
	"io"
	"sync"
)

// quietWriter keeps the promises of [Run]'s writers around any other: safe for
// concurrent use, and never an error that would stop a program because its
// reader went away.
type quietWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (q *quietWriter) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, _ = q.w.Write(p)
	return len(p), nil
}
