package forms

import (
	"errors"
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// ReadLength reads a length of time as people write it: 5m, 1h30m and 7d as the
// API has them, and 5 minutes, 1 hour 30 min or 1 day, 2 hours besides.
func ReadLength(text string) (core.Duration, error) {
	if d, err := core.ParseDuration(strings.TrimSpace(text)); err == nil {
		return d, nil
	}
	rest, total := strings.TrimSpace(text), core.Duration(0)
	for rest != "" {
		m := lengthPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, errLength
		}
		d, err := core.ParseDuration(m[1] + unitOf(m[2]))
		if err != nil || total+d < total {
			return 0, errLength
		}
		total, rest = total+d, strings.TrimSpace(rest[len(m[0]):])
	}
	if total == 0 {
		return 0, errLength
	}
	return total, nil
}

var (
	lengthPart = regexp.MustCompile(`^(?:(?:and|,)\s*)?([0-9]+)\s*([A-Za-z]+)\.?`)
	errLength  = errors.New("is not a length of time, such as 90s, 5 minutes, 1h30m or 7d")
)

// unitOf is a unit as [core.ParseDuration] has it; empty: not known.
func unitOf(word string) string {
	switch strings.TrimSuffix(strings.ToLower(word), "s") {
	case "m", "min", "minute":
		if strings.EqualFold(word, "ms") {
			return "ms"
		}
		return "m"
	case "", "sec", "second":
		return "s"
	case "h", "hr", "hour":
		return "h"
	case "d", "day":
		return "d"
	case "w", "wk", "week":
		return "w"
	case "milli", "millisecond":
		return "ms"
	}
	return "?"
}
