package job

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// How nodes say that they can hear workers which reach the database through
// them alone.
const (
	// ListenEvery is how often a node says so.
	ListenEvery = 3 * time.Second
	// ListenGap is a time without a word after which it is unknown which workers could be
	// heard meanwhile. One or two words may come late on a busy machine.
	ListenGap = 10 * time.Second
	// UnheardFor is how long after its end a session is kept that could not have
	// been renewed, because no node listened. A worker keeps results for as long.
	UnheardFor = 10 * time.Minute
)

// Listening is a time in which a node could hear workers.
type Listening struct{ Since, Until time.Time }

// Heard is the last time without a gap in which any node could hear workers,
// and the zero time where there was none. Nodes may follow one another.
func Heard(spans []Listening, now time.Time) (out Listening) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Listening) int { return a.Since.Compare(b.Since) })
	for _, s := range spans {
		if s.Until.After(now) {
			s.Until = now
		}
		switch {
		case s.Until.Before(s.Since): // written by a clock that was ahead
		case s.Since.Sub(out.Until) > ListenGap:
			out = s
		default:
			out.Until = core.Later(out.Until, s.Until)
		}
	}
	return out
}
