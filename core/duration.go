package core

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that reads and writes as text: "90s", "1h30m", "7d", "2w". A day is 24 hours and a week
// seven of them; months and years have no fixed length and belong into a cron or RRULE rule.
type Duration time.Duration

// spoken is a length of time in words, such as 5 minutes.
var spoken = regexp.MustCompile(`^\s*([0-9]+)\s*(?i:(s)ec(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(d)ays?|(w)eeks?)\s*$`)

// tooLong is a text that would be a duration if it were shorter.
var tooLong = regexp.MustCompile(`^([0-9]+w)?([0-9]+d)?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))*$`)

// ParseDuration reads what [Duration] writes. It refuses numbers without a unit: 5 may mean seconds or minutes.
func ParseDuration(s string) (Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return Duration(d), nil
	}
	total, rest := time.Duration(0), strings.TrimSpace(s)
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		head, tail, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(head, 10, 31)
		if err != nil || time.Duration(n) > (math.MaxInt64-total)/unit.size {
			return 0, noDuration(s)
		}
		total += time.Duration(n) * unit.size
		if rest = tail; rest == "" {
			return Duration(total), nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-total {
		return 0, noDuration(s)
	}
	return Duration(total + d), nil
}

// noDuration says what to write instead of a text that is none.
func noDuration(s string) error {
	if s != "" && tooLong.MatchString(s) {
		return fmt.Errorf("%q is longer than the 106751 days that a duration can have", s)
	}
	if m := spoken.FindStringSubmatch(s); m != nil {
		return fmt.Errorf("%q is not a duration, write %q", s, m[1]+strings.ToLower(strings.Join(m[2:], "")))
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%q has no unit, write \"%ss\" or \"%sm\"", s, s, s)
	}
	return fmt.Errorf("%q is not a duration such as 90s, 1h30m or 7d", s)
}

// String writes whole days as days and everything else as Go does, without the zero parts: 168h is "7d", 5m0s is "5m".
func (d Duration) String() string {
	const day = 24 * time.Hour
	if t := time.Duration(d); t >= day && t%day == 0 {
		return strconv.FormatInt(int64(t/day), 10) + "d"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the duration as [Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDuration] reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	*d = v
	return err
}

// D is the standard library's view of it.
func (d Duration) D() time.Duration { return time.Duration(d) }
