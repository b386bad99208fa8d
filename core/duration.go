package core

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration with a text form such as "90s", "1h30m", "7d" or "2w". A day is 24 hours and a week 7 days. Months
// and years have no fixed length; use a cron or RRULE rule for them.
type Duration time.Duration

// spoken matches a duration in words, such as 5 minutes.
var spoken = regexp.MustCompile(`^\s*([0-9]+)\s*(?i:(s)ec(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(d)ays?|(w)eeks?)\s*$`)

// tooLong matches a text that is not a duration only because it is too long.
var tooLong = regexp.MustCompile(`^([0-9]+w)?([0-9]+d)?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))*$`)

// ParseDuration parses the text form of a [Duration]. It refuses numbers without a unit: 5 may mean seconds or minutes.
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

// noDuration returns the error for a text that is not a duration, with a correct example.
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

// String formats whole days as days and all other durations as Go does, without zero parts: 168h is "7d", 5m0s is "5m".
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

// MarshalText formats the duration as [Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a text as [ParseDuration] does.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	*d = v
	return err
}

// D returns d as a [time.Duration].
func (d Duration) D() time.Duration { return time.Duration(d) }
