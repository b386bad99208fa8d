// Package said remembers the last words of a program, for its error text.
package said

import (
	"bytes"
	"strings"
	"sync"
)

// Tail is a writer that remembers the end of what was written, and never
// fails. The zero value is ready.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 1 << 10

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// After is a text with the last line behind it that says something.
func (t *Tail) After(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := bytes.TrimSpace(t.data)
	last := strings.ToValidUTF8(string(data[bytes.LastIndexByte(data, '\n')+1:]), "\uFFFD")
	if last == "" {
		return text
	}
	return text + ": " + last
}
