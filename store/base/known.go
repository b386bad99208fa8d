package base

import (
	"sync"
)

// Known caches rows of a table that rarely changes, across transitions, in a database that reports when they may have changed
// ([Moment.Version]). The rows are shared, and must not be changed.
type Known[K comparable, T any] struct {
	mu      sync.Mutex
	version int64
	rows    map[K]T
}

// maxKnown bounds the cache; beyond it, all rows are dropped and read again.
const maxKnown = 10_000

// Of returns the existing rows of a table by their keys. It calls read for the rows that it has not cached.
func (k *Known[K, T]) Of(c *Change, table string, keys []K, read func(missing []K) (map[K]T, error)) (map[K]T, error) {
	if c.Version == nil {
		return read(keys)
	}
	version := c.Version(table)
	rows, missing := k.lookup(version, keys)
	if len(missing) == 0 {
		return rows, nil
	}
	news, err := read(missing)
	if err != nil {
		return nil, err
	}
	k.learn(version, news)
	for key, row := range news {
		rows[key] = row
	}
	return rows, nil
}

// One is Of for one row.
func (k *Known[K, T]) One(c *Change, table string, key K, read func() (T, bool, error)) (row T, found bool, err error) {
	if c.Version == nil {
		return read()
	}
	version := c.Version(table)
	k.mu.Lock()
	k.fit(version)
	row, found = k.rows[key]
	k.mu.Unlock()
	if found {
		return row, true, nil
	}
	row, found, err = read()
	if found && err == nil {
		k.learn(version, map[K]T{key: row})
	}
	return row, found, err
}

// fit drops rows of another version.
func (k *Known[K, T]) fit(version int64) {
	if k.version != version || len(k.rows) > maxKnown {
		k.version, k.rows = version, nil
	}
}

func (k *Known[K, T]) lookup(version int64, keys []K) (rows map[K]T, missing []K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fit(version)
	rows = make(map[K]T, len(keys))
	for _, key := range keys {
		if row, ok := k.rows[key]; ok {
			rows[key] = row
		} else {
			missing = append(missing, key)
		}
	}
	return rows, missing
}

func (k *Known[K, T]) learn(version int64, news map[K]T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != version {
		return
	}
	if k.rows == nil {
		k.rows = make(map[K]T, len(news))
	}
	for key, row := range news {
		k.rows[key] = row
	}
}
