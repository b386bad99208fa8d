package base

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Docs caches the decoded value of the last document of each key. The value is shared, and must not be changed.
//
// A cached value is valid only for the same text. An id and a generation do not identify a document: a transaction that reads
// its own writes and is rolled back, as in a dry run, leaves both to be used again for another document.
type Docs[K comparable, T any] struct {
	mu    sync.RWMutex
	known map[K]doc[T]
	bytes int // of all texts
}

type doc[T any] struct {
	text  string
	value T
}

// MaxDocs and MaxDocBytes, of texts, bound the cache; beyond either, all entries are dropped. Values take several times as much.
const MaxDocs, MaxDocBytes = 10_000, 32 << 20

// Own returns a deep copy of a shared value, for callers that read a definition, change it in place and save it.
func Own[T any](shared T) (mine T) {
	if err := json.Unmarshal([]byte(Text(shared)), &mine); err != nil {
		panic(fmt.Sprintf("decode a %T that was encoded just now: %v", shared, err))
	}
	return mine
}

// Decode returns the decoded value of text, the document of key.
func (d *Docs[K, T]) Decode(key K, text string) (T, error) {
	return d.DecodeWith(key, text, func(v T) (T, bool) { return v, true })
}

// DecodeWith is Decode, and completes the decoded value with finish. A value that finish does not complete is not cached.
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
	if d.known == nil || len(d.known) >= MaxDocs || d.bytes+len(text) > MaxDocBytes {
		d.known, d.bytes = map[K]doc[T]{}, 0
	}
	d.bytes += len(text) - len(d.known[key].text)
	d.known[key] = fresh
	return fresh.value, nil
}
