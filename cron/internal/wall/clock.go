// Package wall lays the wall clock of a zone over real time. [Clock] finds the instants of a wall time around the changes of a
// zone: none in a gap, two in a fold. What to do there is decided by the callers.
package wall

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// Rule is a rule as the wall clock sees it.
type Rule interface {
	// WallFrom is the first matching wall second at or after w, or none.
	WallFrom(w int64) int64
}

// Seams is the behaviour of a rule where spans meet.
type Seams uint8

const (
	RealTime Seams = iota // nothing special: match what the clock shows
	Fixed                 // cron's fixed-time rule
	ICal                  // RFC 5545 section 3.3.5
)

// Gap and Fold are cron.Gap and cron.Fold.
type (
	Gap  string
	Fold string
)

// The answers that are not the default.
const (
	GapSkip    Gap  = "skip"
	FoldSecond Fold = "second"
	FoldBoth   Fold = "both"
)

// Clock lays a rule's wall seconds over real time.
type Clock struct {
	Loc   *time.Location
	Gap   Gap
	Fold  Fold
	Seams Seams
}

// Next is the first instant at or after u at which r occurs, or none.
//
// It asks span by span. When a whole span and the two days before it hold nothing up to some far wall second, the
// spans up to a day before that are skipped: whatever they show lies between the two.
func (c *Clock) Next(r Rule, u int64) int64 {
	if u < civil.MinSec-Skew {
		u = civil.MinSec - Skew
	}
	for range maxSpans {
		s := SpanAt(c.Loc, u)
		at, wall := c.within(r, s, u)
		if at != civil.None {
			return at
		}
		if s.End >= civil.MaxSec+Skew {
			return civil.None
		}
		if wall-Skew > s.End && r.WallFrom(u+s.Off-2*civil.DaySecs) == wall {
			if wall == civil.None {
				return civil.None
			}
			u = max(s.End, wall-Skew)
			continue
		}
		u = s.End
	}
	return civil.None
}

// within is the first instant of r in the rest of span s from u on, or none and the next wall second r would like.
func (c *Clock) within(r Rule, s Span, u int64) (at, wall int64) {
	lo, hi, early := u+s.Off, civil.None, civil.None
	if s.End != civil.None {
		hi = s.End + s.Off
	}
	if c.Seams != RealTime {
		if u-s.Start < Seam {
			lo, early = c.enter(r, s, u)
		}
		if c.Fold == FoldSecond && s.End != civil.None {
			hi = min(hi, s.End+SpanAt(c.Loc, s.End).Off)
		}
	}
	wall = r.WallFrom(lo)
	if wall < hi {
		return min(early, wall-s.Off), wall
	}
	return early, wall
}

// enter looks at the seam where s began: lo is the first wall second that still counts, early an instant that is owed
// for the wall seconds the clock skipped, or none.
func (c *Clock) enter(r Rule, s Span, u int64) (lo, early int64) {
	lo, early = u+s.Off, civil.None
	before := offsetBefore(c.Loc, s)
	shown := s.Start + before
	switch {
	case before > s.Off && c.Fold != FoldSecond && c.Fold != FoldBoth:
		lo = max(lo, shown)
	case before < s.Off && c.Gap != GapSkip:
		early = c.owed(r, s, u, before)
	}
	return lo, early
}

// owed is the first instant at or after u that r gets for its wall seconds in the gap before s, or none.
func (c *Clock) owed(r Rule, s Span, u, before int64) int64 {
	if c.Seams == ICal {
		if w := r.WallFrom(u + before); w < s.Start+s.Off {
			return w - before
		}
		return civil.None
	}
	// A fixed rule gets one run, at the seam itself. A whole day that is missing owes nothing.
	if u == s.Start && s.Off-before < civil.DaySecs && r.WallFrom(s.Start+before) < s.Start+s.Off {
		return s.Start
	}
	return civil.None
}

// First is the first instant after t at which r occurs, or the zero time. Occurrences are whole seconds.
func (c *Clock) First(r Rule, t time.Time) time.Time {
	u := c.Next(r, t.Unix()+1)
	if u == civil.None || u > civil.MaxSec {
		return time.Time{}
	}
	return time.Unix(u, 0).In(c.Loc)
}

// Last is the greatest occurrence strictly before t, found by asking next: a window before t is doubled until it holds
// an occurrence, then halved around the last one. Being made of next it is its inverse by construction.
func Last(next func(u int64) int64, t time.Time) int64 {
	end := t.Unix()
	if t.Nanosecond() > 0 {
		end++
	}
	at, back := civil.None, int64(60)
	for {
		from := max(end-back, civil.MinSec-Skew)
		if at = next(from); at < end {
			break
		}
		if from == civil.MinSec-Skew {
			return civil.None
		}
		back *= 2
	}
	for hi := end; ; {
		later := next(at + 1)
		if later >= end {
			return at
		}
		at = later
		mid := at + (hi-at)/2
		if u := next(mid); u < end {
			at = u
		} else {
			hi = mid
		}
	}
}
