package ical

import (
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Duration reads an RFC 5545 section 3.3.6 duration like P1DT2H in seconds.
func Duration(s string) (int64, bool) {
	rest, ok := strings.CutPrefix(strings.ToUpper(strings.TrimPrefix(s, "+")), "P")
	if !ok || rest == "" {
		return 0, false
	}
	total, clock := int64(0), false
	for rest != "" {
		if !clock && rest[0] == 'T' {
			clock, rest = true, rest[1:]
			continue
		}
		i := strings.IndexAny(rest, "WDHMS")
		if i < 1 {
			return 0, false
		}
		n, err := strconv.ParseUint(rest[:i], 10, 31)
		unit := map[byte]int64{'W': 7 * civil.DaySecs, 'D': civil.DaySecs, 'H': 3600, 'M': 60, 'S': 1}[rest[i]]
		if err != nil || clock != strings.ContainsRune("HMS", rune(rest[i])) {
			return 0, false
		}
		total += int64(n) * unit
		rest = rest[i+1:]
	}
	return total, true
}

// Lasting splits a duration into days of the wall clock and seconds of real time. At most 366 days.
func Lasting(s string) (days, secs int64, ok bool) {
	if total, ok := Duration(s); ok {
		if i := strings.IndexByte(strings.ToUpper(s), 'T'); i >= 0 {
			secs, _ = Duration("P" + s[i:])
		}
		return (total - secs) / civil.DaySecs, secs, total > 0 && total <= 366*civil.DaySecs
	}
	d, ok := spell.ReadDuration(s)
	if !ok || d > 366*24*time.Hour || d < time.Second {
		return 0, 0, false
	}
	total := int64(d / time.Second)
	if strings.ContainsAny(s, "dw") {
		return total / civil.DaySecs, total % civil.DaySecs, true
	}
	return 0, total, true
}
