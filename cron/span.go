package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// span is a stretch of constant UTC offset: the instants start <= u < end in Unix seconds, during which the wall clock
// shows u + off. A wall clock never jumps inside a span, so a rule can be matched there without thinking of zones;
// all the hard cases sit at the seams, where the next span begins with a gap or a fold.
type span struct{ start, end, off int64 }

// maxSpans bounds the work of one search: more than 400 years of two changes a year, plus the seams that the time
// package puts at New Year after 2037. The Gregorian calendar repeats after 400 years, so what was not found by then
// does not exist.
const maxSpans = 2000

// skew is more than the wall clock can differ from UTC (15:13:42 is the largest offset in the tz database),
// and seam is more than it can jump at once (a day, at the date line).
const (
	skew = 16 * 3600
	seam = 26 * 3600
)

// spanAt is the span that holds instant u.
func spanAt(loc *time.Location, u int64) span {
	if loc == time.UTC {
		return span{-civil.None, civil.None, 0}
	}
	t := time.Unix(u, 0).In(loc)
	_, off := t.Zone()
	from, to := t.ZoneBounds()
	s := span{-civil.None, civil.None, int64(off)}
	if !from.IsZero() {
		s.start = min(from.Unix(), u)
	}
	if !to.IsZero() {
		s.end = to.Unix()
		// Beyond its table the time package bounds a span by a year of 365 days, so on 31 December of a leap
		// year the end lies before the beginning. An hour is safe: no zone changes at New Year that far out.
		if s.end <= u {
			s.end = u + 3600
		}
	}
	return s
}

// offsetBefore is the offset just before s began.
func offsetBefore(loc *time.Location, s span) int64 {
	if s.start == -civil.None {
		return s.off
	}
	_, off := time.Unix(s.start-1, 0).In(loc).Zone()
	return int64(off)
}

// walls is a rule as the wall clock sees it.
type walls interface {
	// WallFrom is the first matching wall second at or after w, or none.
	WallFrom(w int64) int64
}

// seams says how a rule behaves where spans meet.
type seams uint8

const (
	realTime seams = iota // nothing special: match what the clock shows
	fixed                 // cron's fixed-time rule
	ical                  // RFC 5545 section 3.3.5
)

// gapAnswer and foldAnswer are cron.Gap and cron.Fold.
type (
	gapAnswer  string
	foldAnswer string
)

// The answers that are not the default.
const (
	gapIsSkipped gapAnswer  = "skip"
	secondOfFold foldAnswer = "second"
	bothOfFold   foldAnswer = "both"
)

// clock lays a rule's wall seconds over real time.
type clock struct {
	loc   *time.Location
	gap   gapAnswer
	fold  foldAnswer
	seams seams
}

// next is the first instant at or after u at which r occurs, or none.
//
// It asks span by span. When a whole span and the two days before it hold nothing up to some far wall second, the
// spans up to a day before that are skipped: whatever they show lies between the two.
func (c *clock) next(r walls, u int64) int64 {
	if u < civil.MinSec-skew {
		u = civil.MinSec - skew
	}
	for range maxSpans {
		s := spanAt(c.loc, u)
		at, wall := c.within(r, s, u)
		if at != civil.None {
			return at
		}
		if s.end >= civil.MaxSec+skew {
			return civil.None
		}
		if wall-skew > s.end && r.WallFrom(u+s.off-2*civil.DaySecs) == wall {
			if wall == civil.None {
				return civil.None
			}
			u = max(s.end, wall-skew)
			continue
		}
		u = s.end
	}
	return civil.None
}

// within is the first instant of r in the rest of span s from u on, or none and the next wall second r would like.
func (c *clock) within(r walls, s span, u int64) (at, wall int64) {
	lo, hi, early := u+s.off, civil.None, civil.None
	if s.end != civil.None {
		hi = s.end + s.off
	}
	if c.seams != realTime {
		if u-s.start < seam {
			lo, early = c.enter(r, s, u)
		}
		if c.fold == secondOfFold && s.end != civil.None {
			hi = min(hi, s.end+spanAt(c.loc, s.end).off)
		}
	}
	wall = r.WallFrom(lo)
	if wall < hi {
		return min(early, wall-s.off), wall
	}
	return early, wall
}

// enter looks at the seam where s began: lo is the first wall second that still counts, early an instant that is owed
// for the wall seconds the clock skipped, or none.
func (c *clock) enter(r walls, s span, u int64) (lo, early int64) {
	lo, early = u+s.off, civil.None
	before := offsetBefore(c.loc, s)
	shown := s.start + before
	switch {
	case before > s.off && c.fold != secondOfFold && c.fold != bothOfFold:
		lo = max(lo, shown)
	case before < s.off && c.gap != gapIsSkipped:
		early = c.owed(r, s, u, before)
	}
	return lo, early
}

// owed is the first instant at or after u that r gets for its wall seconds in the gap before s, or none.
func (c *clock) owed(r walls, s span, u, before int64) int64 {
	if c.seams == ical {
		if w := r.WallFrom(u + before); w < s.start+s.off {
			return w - before
		}
		return civil.None
	}
	// A fixed rule gets one run, at the seam itself. A whole day that is missing owes nothing.
	if u == s.start && s.off-before < civil.DaySecs && r.WallFrom(s.start+before) < s.start+s.off {
		return s.start
	}
	return civil.None
}

// first is Next in terms of next: occurrences are whole seconds.
func (c *clock) first(r walls, t time.Time) time.Time {
	u := c.next(r, t.Unix()+1)
	if u == civil.None || u > civil.MaxSec {
		return time.Time{}
	}
	return time.Unix(u, 0).In(c.loc)
}

// last is the greatest occurrence strictly before t, found by asking next: a window before t is doubled until it holds
// an occurrence, then halved around the last one. Being made of next it is its inverse by construction.
func last(next func(u int64) int64, t time.Time) int64 {
	end := t.Unix()
	if t.Nanosecond() > 0 {
		end++
	}
	at, back := civil.None, int64(60)
	for {
		from := max(end-back, civil.MinSec-skew)
		if at = next(from); at < end {
			break
		}
		if from == civil.MinSec-skew {
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
