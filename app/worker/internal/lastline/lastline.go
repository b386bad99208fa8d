// Package lastline keeps the last output of a program, for its error text.
// [Writer] holds a bounded number of bytes.
package lastline

import (
	"bytes"
	"strings"
	"sync"
)

// Writer is a writer that keeps the end of its input, and never fails. The zero
// value is ready.
type Writer struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 1 << 10

func (t *Writer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// After appends the last line that is not empty to a text.
func (t *Writer) After(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := bytes.TrimSpace(t.data)
	last := strings.ToValidUTF8(string(data[bytes.LastIndexByte(data, '\n')+1:]), "\uFFFD")
	if last == "" {
		return text
	}
	return text + ": " + last
}
