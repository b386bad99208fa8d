package cron

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

// note says what daylight saving did to the occurrence of r at instant u, or "".
func (c *clock) note(r walls, u int64) string {
	s := spanAt(c.loc, u)
	before := offsetBefore(c.loc, s)
	wall := u + s.off
	if before < s.off {
		if text := c.gapNote(r, s, before, u); text != "" {
			return text
		}
	}
	if before > s.off && wall < s.start+before {
		return fmt.Sprintf("second of two %s: the clock goes back from %s to %s", civil.ClockText(wall), civil.ClockText(s.start+before), civil.ClockText(s.start+s.off))
	}
	if s.end == civil.None {
		return ""
	}
	if after := spanAt(c.loc, s.end).off; wall >= s.end+after {
		return fmt.Sprintf("first of two %s: the clock goes back from %s to %s", civil.ClockText(wall), civil.ClockText(s.end+s.off), civil.ClockText(s.end+after))
	}
	return ""
}

// gapNote is the note of an instant in a span that began with a gap.
func (c *clock) gapNote(r walls, s span, before, u int64) string {
	skipped := civil.None
	switch {
	case c.seams == fixed && u == s.start:
		skipped = r.WallFrom(u + before)
	case c.seams == ical && r.WallFrom(u+before) == u+before:
		skipped = u + before
	}
	if skipped >= s.start+s.off {
		return ""
	}
	return fmt.Sprintf("%s does not exist on %s in %s: runs at %s",
		civil.ClockText(skipped), time.Unix(skipped, 0).UTC().Format("2006-01-02"), c.loc, civil.ClockText(u+s.off))
}
