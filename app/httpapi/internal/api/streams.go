package api

import (
	"sync"

	"github.com/belfry-run/belfry/core"
)

// streams counts the open streams, in all and of each token.
type streams struct {
	mu    sync.Mutex
	all   int
	token map[int64]int
}

// tokenShare limits a token to 1/tokenShare of all streams, so that one reader
// leaves room for others.
const tokenShare = 10

// Take counts a stream of a token, or refuses it above a limit.
func (s *streams) Take(token int64, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := max(1, most/tokenShare)
	switch {
	case s.all >= most:
		return core.Errorf(core.Unavailable, "%d streams are open, which is the limit of the server", most).
			WithHint("close one, or raise the server's limit")
	case s.token[token] >= own:
		return core.Errorf(core.Unavailable, "%d streams are open with this token, which is its limit", own).
			WithHint("close one, or use another token")
	}
	if s.token == nil {
		s.token = map[int64]int{}
	}
	s.all++
	s.token[token]++
	return nil
}

// Free counts the end of a stream of a token.
func (s *streams) Free(token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.token[token]--; s.token[token] == 0 {
		delete(s.token, token)
	}
}

// Open returns the number of open streams.
func (s *streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
