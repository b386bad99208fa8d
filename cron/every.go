package cron

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Every is a fixed rate: the instants anchor + phase + k*interval for every whole k, before the anchor as well as after.
// It depends on nothing but its three numbers, so a restart or an edit elsewhere never shifts it.
type Every struct {
	step, base int64 // microseconds; base is one of the instants
	loc        *time.Location
}

// maxInterval keeps sums of microseconds far from overflow, and is longer than anybody waits.
const maxInterval = 100 * 365 * 24 * time.Hour

// NewEvery makes a fixed rate. The zero anchor means the Unix epoch. The phase is a stable hash of the seed in
// [0, interval), in whole seconds when the interval is, so that many schedules of one interval do not start together;
// seed "" means phase 0. The interval is a whole number of milliseconds, up to 100 years of 365 days.
func NewEvery(interval time.Duration, anchor time.Time, seed string) (*Every, error) {
	switch {
	case interval <= 0:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "must be more than nothing", Hint: "write for example 5m"}
	case interval%time.Millisecond != 0:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "is finer than a millisecond", Hint: "the shortest interval is 1ms"}
	case interval > maxInterval:
		return nil, &Error{Field: "interval", Value: interval.String(), Msg: "is longer than 100 years"}
	}
	if anchor.IsZero() {
		anchor = time.Unix(0, 0).UTC()
	}
	if y := anchor.UTC().Year(); y < minYear || y > maxYear {
		return nil, &Error{Field: "anchor", Value: anchor.Format(time.RFC3339), Msg: "lies outside the years 1 to 9999"}
	}
	e := &Every{step: interval.Microseconds(), base: anchor.UnixMicro(), loc: anchor.Location()}
	e.base += phase(seed, e.step)
	return e, nil
}

// phase is a stable part of an interval of step microseconds.
func phase(seed string, step int64) int64 {
	if seed == "" {
		return 0
	}
	unit := int64(1000)
	if step%1e6 == 0 {
		unit = 1e6
	}
	return spread(seed, "every", step/unit) * unit
}

// Interval is the time between two instants.
func (e *Every) Interval() time.Duration { return time.Duration(e.step) * time.Microsecond }

// Next is the first instant strictly after t.
func (e *Every) Next(t time.Time) time.Time {
	return e.time(floorDiv(floorMicro(t)-e.base, e.step) + 1)
}

// Prev is the last instant strictly before t.
func (e *Every) Prev(t time.Time) time.Time {
	us := floorMicro(t)
	if t.Nanosecond()%1000 > 0 {
		us++
	}
	return e.time(floorDiv(us-1-e.base, e.step))
}

// time is instant k, or zero outside the years this package knows.
func (e *Every) time(k int64) time.Time {
	us := e.base + k*e.step
	if us < minSec*1e6 || us > maxSec*1e6 {
		return time.Time{}
	}
	return time.UnixMicro(us).In(e.loc)
}

// floorMicro is the microsecond t lies in, kept within the years this package knows so that sums cannot overflow.
func floorMicro(t time.Time) int64 {
	sec := max(minSec-daySecs, min(maxSec+daySecs, t.Unix()))
	return sec*1e6 + int64(t.Nanosecond()/1000)
}

// String is the rule as Parse reads it, without anchor and seed.
func (e *Every) String() string { return "@every " + shortDuration(e.Interval()) }

// Explain says the rule in plain English.
func (e *Every) Explain() string {
	return "Every " + spokenDuration(e.Interval()) + "."
}

// shortDuration is Duration.String without its trailing zero parts: 5m, 1h30m.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// parseDuration is time.ParseDuration with days (24 hours) and weeks in front.
func parseDuration(s string) (time.Duration, bool) {
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

// spokenDuration says 90m as "1 hour 30 minutes".
func spokenDuration(d time.Duration) string {
	var words []string
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}, {"millisecond", time.Millisecond}} {
		if n := d / u.size; n > 0 {
			words = append(words, plural(int(n), u.name))
			d -= n * u.size
		}
	}
	if len(words) == 1 {
		return strings.TrimPrefix(words[0], "1 ")
	}
	return strings.Join(words, " ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
