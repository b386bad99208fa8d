// Package wall lays the wall clock of a zone over real time.
package wall

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// Span is a stretch of constant UTC offset: the instants start <= u < end in Unix seconds, during which the wall clock
// shows u + off. A wall clock never jumps inside a span, so a rule can be matched there without thinking of zones;
// all the hard cases sit at the seams, where the next span begins with a gap or a fold.
type Span struct{ Start, End, Off int64 }

// maxSpans bounds the work of one search: more than 400 years of two changes a year, plus the seams that the time
// package puts at New Year after 2037. The Gregorian calendar repeats after 400 years, so what was not found by then
// does not exist.
const maxSpans = 2000

// Skew is more than the wall clock can differ from UTC (15:13:42 is the largest offset in the tz database),
// and Seam is more than it can jump at once (a day, at the date line).
const (
	Skew = 16 * 3600
	Seam = 26 * 3600
)

// SpanAt is the span that holds instant u.
func SpanAt(loc *time.Location, u int64) Span {
	if loc == time.UTC {
		return Span{-civil.None, civil.None, 0}
	}
	t := time.Unix(u, 0).In(loc)
	_, off := t.Zone()
	from, to := t.ZoneBounds()
	s := Span{-civil.None, civil.None, int64(off)}
	if !from.IsZero() {
		s.Start = min(from.Unix(), u)
	}
	if !to.IsZero() {
		s.End = to.Unix()
		// Beyond its table the time package bounds a span by a year of 365 days, so on 31 December of a leap
		// year the end lies before the beginning. An hour is safe: no zone changes at New Year that far out.
		if s.End <= u {
			s.End = u + 3600
		}
	}
	return s
}

// offsetBefore is the offset just before s began.
func offsetBefore(loc *time.Location, s Span) int64 {
	if s.Start == -civil.None {
		return s.Off
	}
	_, off := time.Unix(s.Start-1, 0).In(loc).Zone()
	return int64(off)
}

// Rule is a rule as the wall clock sees it.
type Rule interface {
	// WallFrom is the first matching wall second at or after w, or none.
	WallFrom(w int64) int64
}

// Seams says how a rule behaves where spans meet.
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
