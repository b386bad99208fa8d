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
		t.Errorf("eleventh stream of one token: got %v, want Unavailable", err)
	}
	for token := int64(2); s.all < 100; token++ {
		for range 10 {
			if err := s.Take(token, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Take(99, 100); core.CodeOf(err) != core.Unavailable {
		t.Errorf("stream above the limit of the server: got %v, want Unavailable", err)
	}
	s.Free(1)
	if err := s.Take(1, 100); err != nil {
		t.Errorf("stream after one was freed: %v", err)
	}
	for token := range s.token {
		for range 10 {
			s.Free(token)
		}
	}
	if s.all != 0 || len(s.token) != 0 {
		t.Errorf("after all streams were freed: got %d open, %v by token; want none", s.all, s.token)
	}
}
