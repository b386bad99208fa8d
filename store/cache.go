package store

import (
	"encoding/json"
	"sync"
)

// docs remembers what documents decode to. A document is known by what it
// belongs to and a number that grows with each change of it. What it decoded to
// is shared, and must not be changed.
type docs[K comparable, T any] struct {
	mu    sync.RWMutex
	known map[K]doc[T]
}

type doc[T any] struct {
	generation int64
	value      T
}

// maxDocs bounds the memory; beyond it, all is forgotten and read again.
const maxDocs = 10_000

// decode answers what text decodes to.
func (d *docs[K, T]) decode(key K, generation int64, text string) (T, error) {
	d.mu.RLock()
	known, ok := d.known[key]
	d.mu.RUnlock()
	if ok && known.generation == generation {
		return known.value, nil
	}
	fresh := doc[T]{generation: generation}
	if err := json.Unmarshal([]byte(text), &fresh.value); err != nil {
		return fresh.value, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDocs {
		d.known = map[K]doc[T]{}
	}
	d.known[key] = fresh
	return fresh.value, nil
}
