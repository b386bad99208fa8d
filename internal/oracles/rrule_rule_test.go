//go:build oracles

package oracles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rrule is a random recurrence and the generator's knowledge of it.
type rrule struct {
	zone   string
	start  time.Time // wall clock, written in UTC
	date   bool      // DTSTART is a DATE
	rules  []part
	until  *int64 // an UNTIL in UTC, which belongs to the only rule
	rdates []int64
	exdate []int64
	exdays []string
	gap    string
	fold   string
}

// part is one RRULE: BY and other parts by name.
type part map[string]string

const wallLayout = "20060102T150405"

// text returns one RRULE value, with an UNTIL on the wall clock, without one in UTC. The order of the parts is random, but
// the same for each call.
func (p part) text() string {
	var list []string
	for key, value := range p {
		list = append(list, key+"="+value)
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(reversed(a), reversed(b)) })
	return strings.Join(list, ";")
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func (p part) has(keys ...string) bool {
	for _, key := range keys {
		if p[key] == "" {
			return false
		}
	}
	return true
}

// any reports whether a condition holds for one of the rules.
func (r *rrule) any(is func(p part) bool) bool { return slices.ContainsFunc(r.rules, is) }

// block returns the recurrence in iCalendar.
func (r *rrule) block() string {
	var b strings.Builder
	switch {
	case r.date:
		fmt.Fprintf(&b, "DTSTART;VALUE=DATE:%s\n", r.start.Format("20060102"))
	case r.zone == "UTC":
		fmt.Fprintf(&b, "DTSTART:%sZ\n", r.start.Format(wallLayout))
	default:
		fmt.Fprintf(&b, "DTSTART;TZID=%s:%s\n", r.zone, r.start.Format(wallLayout))
	}
	for _, p := range r.rules {
		text := p.text()
		if r.until != nil {
			text += ";UNTIL=" + utc(*r.until)
		}
		fmt.Fprintf(&b, "RRULE:%s\n", text)
	}
	for _, u := range r.rdates {
		fmt.Fprintf(&b, "RDATE:%s\n", utc(u))
	}
	for _, u := range r.exdate {
		fmt.Fprintf(&b, "EXDATE:%s\n", utc(u))
	}
	for _, d := range r.exdays {
		fmt.Fprintf(&b, "EXDATE;VALUE=DATE:%s\n", d)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func utc(u int64) string { return time.Unix(u, 0).UTC().Format(wallLayout + "Z") }

func (r *rrule) String() string {
	return fmt.Sprintf("%s (gap %q, fold %q)", strings.ReplaceAll(r.block(), "\n", " "), r.gap, r.fold)
}

var weekdayCodes = strings.Fields("MO TU WE TH FR SA SU")

// randomRRule makes a valid recurrence, without combinations of parts that RFC 5545 forbids.
func randomRRule(d dice, zones map[string][]int64, kept []string) *rrule {
	r := &rrule{zone: "UTC", gap: "run_after", fold: "first"}
	r.start = time.Date(d.between(1995, 2034), time.Month(d.between(1, 12)), d.between(1, 31), d.IntN(24), oneOf(d, 0, 0, 30, d.IntN(60)), oneOf(d, 0, 0, d.IntN(60)), 0, time.UTC)
	r.date = d.chance(6)
	if d.chance(40) && !r.date {
		r.zone = oneOf(d, kept...)
		if seams := zones[r.zone]; len(seams) > 0 && d.chance(80) { // at a time of day at which the clock changes
			at := time.Unix(oneOf(d, seams...)+int64(d.between(-5400, 5400)), 0).UTC()
			back := oneOf(d, 0, 1, 7, 30, 365)
			r.start = wallIn(r.zone, at).AddDate(0, 0, -d.between(0, back)).Truncate(time.Duration(oneOf(d, 1, 60, 900, 1800)) * time.Second)
		}
		r.gap, r.fold = oneOf(d, "run_after", "run_after", "skip"), oneOf(d, "first", "first", "second", "both")
	}
	if r.date {
		r.start = r.start.Truncate(24 * time.Hour)
	}
	r.rules = append(r.rules, r.randomPart(d))
	if d.chance(8) {
		r.rules = append(r.rules, r.randomPart(d))
	}
	r.end(d)
	if d.chance(10) {
		for range d.between(1, 3) {
			r.rdates = append(r.rdates, r.start.Unix()+int64(d.between(0, 90*86400)))
		}
	}
	return r
}

// exists reports whether the clock shows DTSTART, which it does not in a gap.
func (r *rrule) exists() bool {
	loc, err := time.LoadLocation(r.zone)
	if err != nil {
		return false
	}
	s := r.start
	at := time.Date(s.Year(), s.Month(), s.Day(), s.Hour(), s.Minute(), s.Second(), 0, loc)
	return at.Format(wallLayout) == s.Format(wallLayout)
}

func wallIn(zone string, at time.Time) time.Time {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return at
	}
	_, offset := at.In(loc).Zone()
	return at.Add(time.Duration(offset) * time.Second).UTC()
}

// end bounds some of the rules. Only a lone rule has an UNTIL in UTC, since the oracle cuts the whole series there.
func (r *rrule) end(d dice) {
	for _, p := range r.rules {
		later := r.start.Add(time.Duration(d.IntN(1+[]int{300, 86400, 40 * 86400, 4000 * 86400}[d.IntN(4)])) * time.Second)
		switch n := d.IntN(100); {
		case n < 25:
			p["COUNT"] = strconv.Itoa(oneOf(d, 1, 2, 3, d.between(4, 30), d.between(1, 500)))
		case n < 32:
			p["UNTIL"] = later.Format(wallLayout)
			if r.date || d.chance(20) {
				p["UNTIL"] = later.Format("20060102")
			} else if r.zone == "UTC" {
				p["UNTIL"] = later.Format(wallLayout + "Z")
			}
		case n < 42 && r.zone != "UTC" && len(r.rules) == 1:
			u := later.Unix()
			r.until = &u
		}
	}
}

func (r *rrule) randomPart(d dice) part {
	freq := oneOf(d, "SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
	p := part{"FREQ": freq}
	if d.chance(45) {
		p["INTERVAL"] = strconv.Itoa(oneOf(d, 1, 2, 2, 3, 4, 5, 7, d.between(6, 30)))
	}
	if d.chance(30) {
		p["WKST"] = oneOf(d, weekdayCodes...)
	}
	for range oneOf(d, 0, 1, 1, 2, 2, 3, 4) {
		r.by(d, p, freq)
	}
	if d.chance(25) && len(p) > 2 {
		for key := range p {
			if strings.HasPrefix(key, "BY") {
				p["BYSETPOS"] = numbers(signs(d, d.some(3, 1, 6)))
				break
			}
		}
	}
	return p
}

// by adds one BY part, if it is permitted in the rule.
func (r *rrule) by(d dice, p part, freq string) {
	switch key := oneOf(d, "BYMONTH", "BYMONTHDAY", "BYDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND", "BYYEARDAY", "BYWEEKNO"); key {
	case "BYMONTH":
		p[key] = numbers(d.some(3, 1, 12))
	case "BYMONTHDAY":
		if freq != "WEEKLY" {
			p[key] = numbers(signs(d, d.some(5, 1, 31)))
		}
	case "BYDAY":
		p[key] = r.byDay(d, p, freq)
	case "BYHOUR", "BYMINUTE", "BYSECOND":
		if !r.date {
			p[key] = numbers(d.some(3, 0, map[string]int{"BYHOUR": 23, "BYMINUTE": 59, "BYSECOND": 59}[key]))
		}
	case "BYYEARDAY":
		if freq != "DAILY" && freq != "WEEKLY" && freq != "MONTHLY" {
			p[key] = numbers(signs(d, d.some(5, 1, 366)))
		}
	case "BYWEEKNO":
		if freq == "YEARLY" && !strings.ContainsAny(p["BYDAY"], "0123456789") {
			p[key] = numbers(signs(d, d.some(4, 1, 53)))
		}
	}
	for key, value := range p {
		if value == "" {
			delete(p, key)
		}
	}
}

func (r *rrule) byDay(d dice, p part, freq string) string {
	numbered := (freq == "MONTHLY" || freq == "YEARLY") && !p.has("BYWEEKNO") && d.chance(50)
	mixed := numbered && d.chance(15)
	top := 5
	if freq == "YEARLY" && !p.has("BYMONTH") {
		top = 53
	}
	var list []string
	for _, i := range d.some(4, 0, 6) {
		day := weekdayCodes[i]
		if numbered && !(mixed && len(list) == 0) {
			day = strconv.Itoa(signs(d, []int{d.between(1, top)})[0]) + day
		}
		list = append(list, day)
	}
	return strings.Join(list, ",")
}

// signs makes some numbers negative: they count from the end.
func signs(d dice, list []int) []int {
	for i := range list {
		if d.chance(35) {
			list[i] = -list[i]
		}
	}
	return list
}

func numbers(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}
