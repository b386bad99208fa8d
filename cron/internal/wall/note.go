package wall

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// Note returns what daylight saving did to the occurrence of r at instant u, or "".
func (c *Clock) Note(r Rule, u int64) string {
	s := SpanAt(c.Loc, u)
	before := offsetBefore(c.Loc, s)
	wall := u + s.Off
	if before < s.Off {
		if text := c.gapNote(r, s, before, u); text != "" {
			return text
		}
	}
	if before > s.Off && wall < s.Start+before {
		return fmt.Sprintf("second of two %s: the clock goes back from %s to %s", civil.ClockText(wall), civil.ClockText(s.Start+before), civil.ClockText(s.Start+s.Off))
	}
	if s.End == civil.None {
		return ""
	}
	if after := SpanAt(c.Loc, s.End).Off; wall >= s.End+after {
		return fmt.Sprintf("first of two %s: the clock goes back from %s to %s", civil.ClockText(wall), civil.ClockText(s.End+s.Off), civil.ClockText(s.End+after))
	}
	return ""
}

// gapNote is the note of an instant in a span that began with a gap.
func (c *Clock) gapNote(r Rule, s Span, before, u int64) string {
	skipped := civil.None
	switch {
	case c.Seams == Fixed && u == s.Start:
		skipped = r.WallFrom(u + before)
	case c.Seams == ICal && r.WallFrom(u+before) == u+before:
		skipped = u + before
	}
	if skipped >= s.Start+s.Off {
		return ""
	}
	return fmt.Sprintf("%s does not exist on %s in %s: runs at %s",
		civil.ClockText(skipped), time.Unix(skipped, 0).UTC().Format("2006-01-02"), c.Loc, civil.ClockText(u+s.Off))
}
