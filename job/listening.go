package job

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Times of the records with which nodes state that they receive renewals of
// workers without access to the database.
const (
	// ListenEvery is the interval between these records.
	ListenEvery = 3 * time.Second
	// ListenGap is the time without a record after which it is unknown which
	// renewals nodes could receive. On a busy machine one or two records may come
	// late.
	ListenGap = 10 * time.Second
	// UnheardFor is how long a session is kept after its end if it could not renew
	// because no node listened. A worker keeps results for as long.
	UnheardFor = 10 * time.Minute
)

// Listening is a period in which a node could receive renewals.
type Listening struct{ Since, Until time.Time }

// Heard returns the last period without a gap in which any node could receive
// renewals, or the zero value if there was none. Nodes may follow one another.
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
