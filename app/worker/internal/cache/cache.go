// Package cache caches values that are expensive to create: compiled
// expressions, transports, pools of certificates.
package cache

import "sync"

// Map creates values once and keeps the recently used ones. It holds at most two
// generations of Size values: when the younger is full, the older is evicted. A
// used value moves from the older to the younger. This approximates LRU at the
// cost of one map lookup.
type Map[K comparable, V any] struct {
	// Size is the size of a generation. Default: 256.
	Size int
	// Evicted is called for each evicted value. It may be nil.
	Evicted func(V)

	mu         sync.Mutex
	young, old map[K]V
}

// Get returns the value of a key; make creates a missing one. After an error,
// nothing is kept. Two concurrent callers may both create a value; the first is
// kept, and both get it.
func (m *Map[K, V]) Get(key K, make func() (V, error)) (V, error) {
	if v, ok := m.look(key); ok {
		return v, nil
	}
	made, err := make()
	if err != nil {
		return made, err
	}
	return m.keep(key, made), nil
}

func (m *Map[K, V]) look(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.young[key]
	if ok {
		return v, true
	}
	if v, ok = m.old[key]; ok {
		delete(m.old, key)
		m.addLocked(key, v)
	}
	return v, ok
}

func (m *Map[K, V]) keep(key K, made V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.young[key]; ok {
		if m.Evicted != nil {
			m.Evicted(made)
		}
		return v
	}
	m.addLocked(key, made)
	return made
}

func (m *Map[K, V]) addLocked(key K, v V) {
	size := m.Size
	if size <= 0 {
		size = 256
	}
	if len(m.young) >= size {
		m.letGoLocked(m.old)
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[key] = v
}

func (m *Map[K, V]) letGoLocked(values map[K]V) {
	if m.Evicted == nil {
		return
	}
	for _, v := range values {
		m.Evicted(v)
	}
}

// Clear evicts all values.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letGoLocked(m.young)
	m.letGoLocked(m.old)
	m.young, m.old = nil, nil
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}
