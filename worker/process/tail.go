package process

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tail remembers the end of what a program wrote, for its error text.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 1 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// lastLine that says something.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := bytes.TrimSpace(t.data)
	return strings.ToValidUTF8(string(data[bytes.LastIndexByte(data, '\n')+1:]), "\uFFFD")
}

// tee writes to both, which never fail.
type tee struct{ a, b io.Writer }

func (t tee) Write(p []byte) (int, error) {
	_, _ = t.a.Write(p)
	return t.b.Write(p)
}
