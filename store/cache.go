package store

import (
	"encoding/json"
	"fmt"
	"sync"
)

// docs remembers what the last document of each key decoded to. What it decoded
// to is shared, and must not be changed.
//
// Only the text itself says whether it is that document. An id and a generation
// do not: a transaction that reads its own writes and is rolled back, as a dry
// run does, leaves both to be given again to something else.
type docs[K comparable, T any] struct {
	mu    sync.RWMutex
	known map[K]doc[T]
}

type doc[T any] struct {
	text  string
	value T
}

// maxDocs bounds the memory; beyond it, all is forgotten and read again.
const maxDocs = 10_000

// own is a copy of what was decoded, for callers: they read a definition, change
// it where it lies and save it.
func own[T any](shared T) (mine T) {
	if err := json.Unmarshal([]byte(text(shared)), &mine); err != nil {
		panic(fmt.Sprintf("decode a %T that was encoded just now: %v", shared, err))
	}
	return mine
}

// decode answers what text, the document of key, decodes to.
func (d *docs[K, T]) decode(key K, text string) (T, error) {
	return d.decodeWith(key, text, func(v T) (T, bool) { return v, true })
}

// decodeWith is decode, and finishes what was decoded. What could not be finished
// is not remembered.
func (d *docs[K, T]) decodeWith(key K, text string, finish func(T) (T, bool)) (T, error) {
	d.mu.RLock()
	known, ok := d.known[key]
	d.mu.RUnlock()
	if ok && known.text == text {
		return known.value, nil
	}
	fresh := doc[T]{text: text}
	if err := json.Unmarshal([]byte(text), &fresh.value); err != nil {
		return fresh.value, err
	}
	var whole bool
	if fresh.value, whole = finish(fresh.value); !whole {
		return fresh.value, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDocs {
		d.known = map[K]doc[T]{}
	}
	d.known[key] = fresh
	return fresh.value, nil
}
