// Package quiet provides a writer that never fails. A log that cannot be written
// must not end the attempt that writes to it.
package quiet

import (
	"io"
	"sync"
)

// Writer wraps a writer to keep the promises of a run's writers. It is safe for
// concurrent use, and never returns an error, so that a program does not stop
// because its reader went away.
type Writer struct {
	mu sync.Mutex
	W  io.Writer
}

// Write passes p on, and reports that all of it was written.
func (q *Writer) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, _ = q.W.Write(p)
	return len(p), nil
}
