package cache_test

import (
	"errors"
	"testing"

	"github.com/belfry-run/belfry/app/worker/internal/cache"
)

func TestCacheKeepsUsedEntries(t *testing.T) {
	t.Parallel()
	made, gone := map[int]int{}, 0
	m := cache.Map[int, int]{Size: 10, Evicted: func(int) { gone++ }}
	get := func(key int) {
		v, err := m.Get(key, func() (int, error) { made[key]++; return key * 2, nil })
		if err != nil || v != key*2 {
			t.Errorf("%d: %d, %v", key, v, err)
		}
	}
	for i := range 1000 {
		get(-1)
		get(i)
	}
	if made[-1] != 1 || m.Len() > 20 || gone < 900 {
		t.Errorf("the one in use was made %d times, %d are kept, %d went", made[-1], m.Len(), gone)
	}
	m.Clear()
	if m.Len() != 0 || gone != 1001 {
		t.Errorf("%d are kept, %d went", m.Len(), gone)
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	t.Parallel()
	var m cache.Map[string, int]
	if _, err := m.Get("a", func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if v, err := m.Get("a", func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Error(v, err)
	}
}
