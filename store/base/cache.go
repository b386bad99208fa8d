package base

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Docs remembers what the last document of each key decoded to. The decoded value
// is shared, and must not be changed.
//
// Only the text itself says whether it is that document. An id and a generation
// do not: a transaction that reads its own writes and is rolled back, as a dry
// run does, leaves both to be given again to something else.
type Docs[K comparable, T any] struct {
	mu    sync.RWMutex
	known map[K]doc[T]
}

type doc[T any] struct {
	text  string
	value T
}

// MaxDocs bounds the memory; beyond it, all is forgotten and read again.
const MaxDocs = 10_000

// Own is a copy of what was decoded, for callers: they read a definition, change
// it where it lies and save it.
func Own[T any](shared T) (mine T) {
	if err := json.Unmarshal([]byte(Text(shared)), &mine); err != nil {
		panic(fmt.Sprintf("decode a %T that was encoded just now: %v", shared, err))
	}
	return mine
}

// Decode answers what text, the document of key, decodes to.
func (d *Docs[K, T]) Decode(key K, text string) (T, error) {
	return d.DecodeWith(key, text, func(v T) (T, bool) { return v, true })
}

// DecodeWith is decode, and finishes what was decoded. A value that could not be finished
// is not remembered.
func (d *Docs[K, T]) DecodeWith(key K, text string, finish func(T) (T, bool)) (T, error) {
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
	if d.known == nil || len(d.known) >= MaxDocs {
		d.known = map[K]doc[T]{}
	}
	d.known[key] = fresh
	return fresh.value, nil
}
