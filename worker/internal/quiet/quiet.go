// Package quiet has a writer that never fails.
package quiet

import (
	"io"
	"sync"
)

// Writer keeps the promises of a run's writers around any other: safe for
// concurrent use, and never an error that would stop a program because its
// reader went away.
type Writer struct {
	mu sync.Mutex
	W  io.Writer
}

func (q *Writer) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, _ = q.W.Write(p)
	return len(p), nil
}
