package wall

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// Span is a stretch of constant UTC offset: the instants Start <= u < End in Unix seconds, during which the wall clock
// shows u + Off. A wall clock never jumps inside a span, so a rule can be matched there without thinking of zones;
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
