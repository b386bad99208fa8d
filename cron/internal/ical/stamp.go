package ical

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Stamp is a DATE or DATE-TIME as written: a reading of the wall clock, and whether it is UTC or a whole day.
type Stamp struct {
	Wall int64
	UTC  bool
	Date bool
}

// ParseStamp reads 20270301, 20270301T090000 or 20270301T090000Z.
func ParseStamp(field, s string, pos int) (Stamp, error) {
	bad := &refusal.Error{Field: field, Value: s, Pos: pos, Msg: "is not a date (RFC 5545 sections 3.3.4 and 3.3.5)", Hint: "write 20270301, 20270301T090000 or 20270301T090000Z"}
	text, utc := strings.CutSuffix(strings.ToUpper(s), "Z")
	date, clock, timed := strings.Cut(text, "T")
	if len(date) != 8 || timed && len(clock) != 6 || utc && !timed {
		return Stamp{}, bad
	}
	y, ok1 := spell.Number(date[:4])
	m, ok2 := spell.Number(date[4:6])
	d, ok3 := spell.Number(date[6:])
	if !ok1 || !ok2 || !ok3 || y < civil.MinYear || m < 1 || m > 12 || d < 1 || d > civil.DaysInMonth(y, m) {
		return Stamp{}, bad
	}
	st := Stamp{Wall: civil.DayOf(y, m, d) * civil.DaySecs, UTC: utc, Date: !timed}
	if !timed {
		return st, nil
	}
	n, ok := spell.Number(clock)
	h, mi, sec := n/10000, n/100%100, n%100
	if !ok || h > 23 || mi > 59 || sec > 60 {
		return Stamp{}, bad
	}
	st.Wall += int64(h*3600 + mi*60 + min(sec, 59)) // section 3.3.12: without leap seconds, 60 is 59
	return st, nil
}

// Instant is where a stamp lies in real time, seen from a zone: a skipped time with the offset before the gap, a doubled
// time as the first of the two (RFC 5545 section 3.3.5).
func (s Stamp) Instant(loc *time.Location) int64 {
	if s.UTC {
		return s.Wall
	}
	c := wall.Clock{Loc: loc, Seams: wall.ICal}
	return c.Next(oneWall(s.Wall), s.Wall-wall.Skew)
}

// oneWall is the rule that matches one wall second.
type oneWall int64

func (o oneWall) WallFrom(w int64) int64 {
	if w <= int64(o) {
		return int64(o)
	}
	return civil.None
}

// FormatWall writes a wall second as a DATE-TIME.
func FormatWall(w int64) string {
	return time.Unix(w, 0).UTC().Format("20060102T150405")
}
