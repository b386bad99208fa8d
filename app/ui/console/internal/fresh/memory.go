package fresh

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// mostRemembered is for some hundred pages that are watched, in bytes. A part of a usual
// page has 5 to 60 KB.
const mostRemembered = 16 << 20

// Memory are the parts that were sent last, by reader and digest. The zero value is
// empty. A part that is not remembered is sent whole.
type Memory struct {
	mu    sync.Mutex
	texts map[[2]string]*list.Element
	order list.List // the one to forget last first
	size  int
}

type remembered struct {
	key  [2]string
	text string
}

// keep remembers a text and answers its digest.
func (m *Memory) keep(reader, text string) string {
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:12])
	key := [2]string{reader, digest}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.texts[key]; e != nil {
		m.order.MoveToFront(e)
		return digest
	}
	if m.texts == nil {
		m.texts = map[[2]string]*list.Element{}
	}
	m.texts[key] = m.order.PushFront(remembered{key, text})
	m.size += len(text)
	for m.size > mostRemembered {
		oldest := m.order.Remove(m.order.Back()).(remembered) //nolint:forcetypeassert // nothing else is in it
		delete(m.texts, oldest.key)
		m.size -= len(oldest.text)
	}
	return digest
}

// supersede returns a text that its reader is about to replace, and makes it the first to
// be dropped. Otherwise the replaced texts of a hundred open pages would push out the
// current ones.
func (m *Memory) supersede(reader, digest string) (text string, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.texts[[2]string{reader, digest}]
	if e == nil {
		return "", false
	}
	m.order.MoveToBack(e)
	return e.Value.(remembered).text, true //nolint:forcetypeassert // nothing else is in it
}
