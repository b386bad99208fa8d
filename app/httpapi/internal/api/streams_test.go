package api

import (
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestStreamsAreCountedPerToken(t *testing.T) {
	t.Parallel()
	var s streams
	for range 10 {
		if err := s.Take(1, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Take(1, 100); core.CodeOf(err) != core.Unavailable {
		t.Errorf("an eleventh of one token: %v", err)
	}
	for token := int64(2); s.all < 100; token++ {
		for range 10 {
			if err := s.Take(token, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Take(99, 100); core.CodeOf(err) != core.Unavailable {
		t.Errorf("one more than all: %v", err)
	}
	s.Free(1)
	if err := s.Take(1, 100); err != nil {
		t.Errorf("after one was given back: %v", err)
	}
	for token := range s.token {
		for range 10 {
			s.Free(token)
		}
	}
	if s.all != 0 || len(s.token) != 0 {
		t.Errorf("left: %d, %v", s.all, s.token)
	}
}
