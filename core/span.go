package core

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// SpanText formats a duration for people, with its two largest units or up to three digits: 420 µs, 1.5 ms, 2.5 s,
// 1 min 30 s, 2 d 4 h. For a text that is parsed again, use [Duration.String].
func SpanText[D ~int64](length D) string {
	d := time.Duration(length)
	switch {
	case d < 0:
		return "−" + SpanText(-max(d, -math.MaxInt64))
	case d < time.Microsecond:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", math.Floor(float64(d.Microseconds())/100)/10)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(d.Seconds()*10)/10), ".0") + " s"
	}
	days, hours, minutes, seconds := d/(24*time.Hour), d/time.Hour%24, d/time.Minute%60, d/time.Second%60
	switch {
	case days > 0:
		return two(days, "d", hours, "h")
	case hours > 0:
		return two(hours, "h", minutes, "min")
	case minutes > 0:
		return two(minutes, "min", seconds, "s")
	}
	return fmt.Sprintf("%d s", seconds)
}

func two(n time.Duration, unit string, less time.Duration, smaller string) string {
	if less == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, less, smaller)
}
