package httpapi

import (
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestStreamsAreCountedPerToken(t *testing.T) {
	t.Parallel()
	var s streams
	for range 10 {
		if err := s.take(1, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take(1, 100); core.CodeOf(err) != core.Unavailable {
		t.Errorf("an eleventh of one token: %v", err)
	}
	for token := int64(2); s.all < 100; token++ {
		for range 10 {
			if err := s.take(token, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.take(99, 100); core.CodeOf(err) != core.Unavailable {
		t.Errorf("one more than all: %v", err)
	}
	s.free(1)
	if err := s.take(1, 100); err != nil {
		t.Errorf("after one was given back: %v", err)
	}
	for token := range s.token {
		for range 10 {
			s.free(token)
		}
	}
	if s.all != 0 || len(s.token) != 0 {
		t.Errorf("left: %d, %v", s.all, s.token)
	}
}
