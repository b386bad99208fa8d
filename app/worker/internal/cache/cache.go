// Package cache keeps what is dear to make and often asked for: compiled
// expressions, transports, pools of certificates.
package cache

import "sync"

// Map makes values once and keeps the ones that were used of late. It holds at
// most two generations of Size values: when the younger is full the older is
// let go, and what is used moves from the older to the younger. That is nearly
// the order of use, at the price of one look into a map.
type Map[K comparable, V any] struct {
	// Size of a generation. Default: 256.
	Size int
	// Evicted is called for each value that is let go. It may be nil.
	Evicted func(V)

	mu         sync.Mutex
	young, old map[K]V
}

// Get is the value of a key, made when there is none. A value whose making
// failed is not kept. Two callers that come at once may both make one; the
// first is kept, and both get it.
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

// Clear lets everything go.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letGoLocked(m.young)
	m.letGoLocked(m.old)
	m.young, m.old = nil, nil
}

// Len is how many values there are.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}
