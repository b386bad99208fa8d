package spell

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ReadDuration is time.ParseDuration with days (24 hours) and weeks in front.
func ReadDuration(s string) (time.Duration, bool) {
	total := time.Duration(0)
	for _, unit := range []struct {
		mark byte
		size time.Duration
	}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}} {
		i := strings.IndexByte(s, unit.mark)
		if i < 0 {
			continue
		}
		n, err := strconv.ParseUint(s[:i], 10, 31)
		if err != nil || time.Duration(n) > math.MaxInt64/4/unit.size {
			return 0, false
		}
		total += time.Duration(n) * unit.size
		s = s[i+1:]
	}
	if s == "" {
		return total, total > 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || total+d < total {
		return 0, false
	}
	return total + d, true
}

// Duration is Duration.String without its trailing zero parts: 5m, 1h30m.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// SpokenDuration says 90m as "1 hour 30 minutes".
func SpokenDuration(d time.Duration) string {
	var words []string
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}, {"millisecond", time.Millisecond}} {
		if n := d / u.size; n > 0 {
			words = append(words, Plural(int(n), u.name))
			d -= n * u.size
		}
	}
	if len(words) == 1 {
		return strings.TrimPrefix(words[0], "1 ")
	}
	return strings.Join(words, " ")
}
