package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

func TestGapsAndFolds(t *testing.T) {
	const layout = "01-02 15:04 -0700"
	for _, c := range []struct {
		name, expr, zone string
		gap              Gap
		fold             Fold
		from, want       string
	}{
		{"fixed in a gap runs at its end", "30 2 * * *", "America/New_York", "", "", "2026-03-07 12:00",
			"03-08 03:00 -0400, 03-09 02:30 -0400"},
		{"or not", "30 2 * * *", "America/New_York", GapSkip, "", "2026-03-07 12:00",
			"03-09 02:30 -0400, 03-10 02:30 -0400"},
		{"the end of the gap itself is no second run", "0 2,3 * * *", "America/New_York", "", "", "2026-03-07 12:00",
			"03-08 03:00 -0400, 03-09 02:00 -0400"},
		{"several skipped times run once", "15,45 2 * * *", "America/New_York", "", "", "2026-03-07 12:00",
			"03-08 03:00 -0400, 03-09 02:15 -0400"},
		{"a wildcard minute is absent in a gap", "*/30 * * * *", "America/New_York", "", "", "2026-03-08 01:00",
			"03-08 01:30 -0500, 03-08 03:00 -0400, 03-08 03:30 -0400"},
		{"a wildcard hour too", "30 * * * *", "America/New_York", "", "", "2026-03-08 00:45",
			"03-08 01:30 -0500, 03-08 03:30 -0400"},
		{"an hour range that lies in the gap names fixed times", "0 2-2 * * *", "America/New_York", "", "", "2026-03-07 12:00",
			"03-08 03:00 -0400, 03-09 02:00 -0400"},
		{"a range is owed once, however many of its times are skipped", "0-10/5 0 * * *", "Africa/Cairo", "", "", "2026-04-23 12:00",
			"04-24 01:00 +0300, 04-25 00:00 +0300"},
		{"as the same times in a list are", "0,5,10 0 * * *", "Africa/Cairo", "", "", "2026-04-23 12:00",
			"04-24 01:00 +0300, 04-25 00:00 +0300"},
		{"and beside those that exist", "16 0-2 * * *", "Asia/Beirut", "", "", "2026-03-28 12:00",
			"03-29 01:00 +0300, 03-29 01:16 +0300, 03-29 02:16 +0300"},
		{"a range of hours in a fold runs once at each", "0 1-5 * * *", "Europe/Riga", "", "", "2021-10-31 01:30",
			"10-31 02:00 +0300, 10-31 03:00 +0300, 10-31 04:00 +0200"},
		{"a step to the end of the field is a wildcard", "0 1/1 * * *", "Europe/Riga", "", "", "2021-10-31 01:30",
			"10-31 02:00 +0300, 10-31 03:00 +0300, 10-31 03:00 +0200, 10-31 04:00 +0200"},
		{"fixed in a fold runs first", "30 1 * * *", "America/New_York", "", "", "2026-10-31 12:00",
			"11-01 01:30 -0400, 11-02 01:30 -0500"},
		{"or second", "30 1 * * *", "America/New_York", "", FoldSecond, "2026-10-31 12:00",
			"11-01 01:30 -0500, 11-02 01:30 -0500"},
		{"or both", "30 1 * * *", "America/New_York", "", FoldBoth, "2026-10-31 12:00",
			"11-01 01:30 -0400, 11-01 01:30 -0500, 11-02 01:30 -0500"},
		{"a wildcard runs in both whatever the knob", "0 * * * *", "Europe/Sofia", "", FoldSecond, "2026-10-25 02:30",
			"10-25 03:00 +0300, 10-25 03:00 +0200, 10-25 04:00 +0200"},
		{"half an hour forward", "15 2 * * *", "Australia/Lord_Howe", "", "", "2026-10-03 12:00",
			"10-04 02:30 +1100, 10-05 02:15 +1100"},
		{"half an hour back", "45 1 * * *", "Australia/Lord_Howe", "", "", "2026-04-04 12:00",
			"04-05 01:45 +1100, 04-06 01:45 +1030"},
		{"half an hour back, second", "45 1 * * *", "Australia/Lord_Howe", "", FoldSecond, "2026-04-04 12:00",
			"04-05 01:45 +1030, 04-06 01:45 +1030"},
		{"no midnight in Beirut", "0 0 * * *", "Asia/Beirut", "", "", "2026-03-28 12:00",
			"03-29 01:00 +0300, 03-30 00:00 +0300"},
		{"no midnight in Cairo", "@daily", "Africa/Cairo", "", "", "2024-04-25 12:00",
			"04-26 01:00 +0300, 04-27 00:00 +0300"},
		{"the last hour twice in Cairo", "30 23 * * *", "Africa/Cairo", "", "", "2024-10-31 12:00",
			"10-31 23:30 +0300, 11-01 23:30 +0200"},
		{"two hours at Troll", "30 1 * * *", "Antarctica/Troll", "", "", "2026-03-28 12:00",
			"03-29 03:00 +0200, 03-30 01:30 +0200"},
		{"two hours at Ust-Nera", "30 0 * * *", "Asia/Ust-Nera", "", "", "1981-03-31 12:00",
			"04-01 03:00 +1200, 04-02 00:30 +1200"},
		{"the missing day owes nothing", "0 12 * * *", "Pacific/Apia", "", "", "2011-12-28 13:00",
			"12-29 12:00 -1000, 12-31 12:00 +1400"},
		{"nor a date on it", "0 12 30 12 *", "Pacific/Apia", "", "", "2011-12-28 13:00",
			"12-30 12:00 +1400"}, // of 2012
		{"real time runs through the missing day", "0 */6 * * *", "Pacific/Apia", "", "", "2011-12-29 12:00",
			"12-29 18:00 -1000, 12-31 00:00 +1400, 12-31 06:00 +1400"},
	} {
		e := parse(t, c.expr, Options{Zone: zoneOf(t, c.zone), Gap: c.gap, Fold: c.fold})
		got := show(Upcoming(e, at(t, c.zone, c.from), strings.Count(c.want, ",")+1), layout)
		if got != c.want {
			t.Errorf("%s: %s in %s:\n got %s\nwant %s", c.name, c.expr, c.zone, got, c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct{ expr, zone, from, want string }{
		{"30 2 * * *", "America/New_York", "2026-03-07 12:00", "02:30 does not exist on 2026-03-08 in America/New_York: runs at 03:00"},
		{"0 0 * * *", "Asia/Beirut", "2026-03-28 12:00", "00:00 does not exist on 2026-03-29 in Asia/Beirut: runs at 01:00"},
		{"30 1 * * *", "America/New_York", "2026-10-31 12:00", "first of two 01:30: the clock goes back from 02:00 to 01:00"},
		{"30 4 * * *", "America/New_York", "2026-10-31 12:00", ""},
		{"@every 1h", "America/New_York", "2026-11-01 00:00", ""},
	} {
		e := parse(t, c.expr, Options{Zone: zoneOf(t, c.zone)})
		if got := e.Note(e.Next(at(t, c.zone, c.from))); got != c.want {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
	e := parse(t, "30 * * * *", Options{Zone: zoneOf(t, "America/New_York")})
	second := at(t, "America/New_York", "2026-11-01 01:30").Add(time.Hour)
	if got := e.Note(second); got != "second of two 01:30: the clock goes back from 02:00 to 01:00" {
		t.Errorf("%q", got)
	}
}

// oddWeeks are weeks around changes of zones chosen for their oddities. Each must hold a change of offset, unless
// two of them cancel. They lie years back, where a new release of the time zones changes nothing any more: Cuba called
// off the change of 1 November 2026 days before it. Only what lies beyond the table of a zone file is in the future.
var oddWeeks = []struct{ zone, around, odd string }{
	{"America/New_York", "2024-03-10", "an hour forward"},
	{"America/New_York", "2024-11-03", "an hour back"},
	{"America/New_York", "2040-03-11", "beyond the table of the zone file"},
	{"Europe/Sofia", "2024-03-31", "at 03:00"},
	{"Europe/Sofia", "2024-10-27", "at 04:00"},
	{"Europe/Dublin", "2024-10-27", "negative daylight saving"},
	{"Europe/London", "1971-10-31", "the end of British Standard Time"},
	{"Europe/Lisbon", "1996-03-31", "two changes that cancel"},
	{"Europe/Istanbul", "2016-03-27", "the last change"},
	{"Europe/Volgograd", "2018-10-28", "forward in autumn"},
	{"Europe/Volgograd", "2020-12-27", "back in winter"},
	{"Europe/Kaliningrad", "2011-03-27", "permanent summer"},
	{"Australia/Lord_Howe", "2024-10-06", "half an hour forward"},
	{"Australia/Lord_Howe", "2024-04-07", "half an hour back"},
	{"Australia/Lord_Howe", "2043-10-04", "half an hour beyond the table"},
	{"Pacific/Chatham", "2024-09-29", "at 02:45"},
	{"Pacific/Chatham", "2024-04-07", "at 03:45"},
	{"Pacific/Apia", "2011-12-30", "a missing day"},
	{"Pacific/Fakaofo", "2011-12-30", "a missing day"},
	{"Pacific/Kwajalein", "1993-08-21", "a missing day"},
	{"Pacific/Kiritimati", "1994-12-31", "a missing day"},
	{"Pacific/Norfolk", "2019-10-06", "daylight saving for the first time"},
	{"Asia/Beirut", "2024-03-31", "no midnight"},
	{"Asia/Beirut", "2024-10-27", "23:00 twice"},
	{"Asia/Gaza", "2024-04-20", "Saturday at 02:00"},
	{"Asia/Amman", "2022-02-25", "no midnight, and then for good"},
	{"Asia/Tehran", "2022-03-22", "no midnight"},
	{"Asia/Tehran", "2022-09-22", "23:00 twice"},
	{"Asia/Kathmandu", "1986-01-01", "a quarter of an hour at New Year"},
	{"Asia/Singapore", "1982-01-01", "half an hour at New Year"},
	{"Asia/Pyongyang", "2015-08-15", "half an hour back at midnight"},
	{"Asia/Pyongyang", "2018-05-05", "half an hour forward before midnight"},
	{"Asia/Colombo", "1996-10-26", "half an hour back"},
	{"Asia/Dhaka", "2009-06-19", "an hour before midnight"},
	{"Asia/Ust-Nera", "1981-04-01", "three hours forward"},
	{"Asia/Ust-Nera", "2011-09-13", "a change of zone"},
	{"Africa/Cairo", "2024-04-26", "no midnight on a Friday"},
	{"Africa/Cairo", "2024-11-01", "23:00 twice"},
	{"Africa/Casablanca", "2024-03-10", "back for Ramadan"},
	{"Africa/Casablanca", "2024-04-14", "and forward again"},
	{"Africa/Monrovia", "1972-01-07", "44 minutes and a half"},
	{"Africa/Sao_Tome", "2018-01-01", "an hour forward at New Year"},
	{"Africa/Juba", "2021-02-01", "an hour back"},
	{"America/Santiago", "2024-09-08", "no midnight"},
	{"America/Santiago", "2024-04-07", "23:00 twice"},
	{"America/Havana", "2024-03-10", "no midnight"},
	{"America/Havana", "2024-11-03", "00:00 twice"},
	{"America/Asuncion", "2023-10-01", "no midnight"},
	{"America/Sao_Paulo", "2018-11-04", "no midnight"},
	{"America/Caracas", "2007-12-09", "half an hour back"},
	{"America/Caracas", "2016-05-01", "half an hour forward"},
	{"America/St_Johns", "2010-03-14", "at one minute past midnight"},
	{"America/St_Johns", "1988-04-03", "two hours forward"},
	{"America/Nuuk", "2024-03-31", "an hour across midnight"},
	{"America/Scoresbysund", "2024-03-31", "two changes that cancel"},
	{"Antarctica/Troll", "2024-03-31", "two hours forward"},
	{"Antarctica/Troll", "2024-10-27", "two hours back"},
	{"Antarctica/Casey", "2020-10-04", "three hours forward"},
	{"Antarctica/Casey", "2021-03-14", "three hours back"},
	{"Antarctica/Vostok", "2023-12-18", "two hours back"},
}

// naive is the same language read by other eyes: every field a plain list of numbers, and no thought of zones.
type naive struct {
	sec, min, hour, dom, month, dow []int
	both, fixed                     bool
}

func naiveRule(t *testing.T, expr string) naive {
	t.Helper()
	words := strings.Fields(expr)
	if len(words) == 5 {
		words = append([]string{"0"}, words...)
	}
	star := func(s string) bool { return s[0] == '*' }
	n := naive{both: star(words[3]) || star(words[5]), fixed: !strings.Contains(words[0]+words[1]+words[2], "*")}
	for i, f := range []struct {
		list    *[]int
		low, up int
	}{{&n.sec, 0, 59}, {&n.min, 0, 59}, {&n.hour, 0, 23}, {&n.dom, 1, 31}, {&n.month, 1, 12}, {&n.dow, 0, 6}} {
		for _, part := range strings.Split(words[i], ",") {
			body, stepText, _ := strings.Cut(part, "/")
			step, _ := strconv.Atoi(stepText)
			lo, hi := f.low, f.up
			if body != "*" {
				a, b, ranged := strings.Cut(body, "-")
				lo, _ = strconv.Atoi(a)
				if hi = lo; ranged {
					hi, _ = strconv.Atoi(b)
				}
			}
			for v := lo; v <= hi; v += max(step, 1) {
				*f.list = append(*f.list, v)
			}
		}
	}
	return n
}

func (n naive) holds(w time.Time) bool {
	dom, dow := slices.Contains(n.dom, w.Day()), slices.Contains(n.dow, int(w.Weekday()))
	if n.both && !(dom && dow) || !n.both && !(dom || dow) {
		return false
	}
	return slices.Contains(n.month, int(w.Month())) && slices.Contains(n.hour, w.Hour()) &&
		slices.Contains(n.min, w.Minute()) && slices.Contains(n.sec, w.Second())
}

// week is the wall clock of nine days, looked at every 30 seconds: what a person with a notebook would have.
type week struct {
	from, to time.Time
	walls    []time.Time // of every look, as if in UTC
}

const look = 30 * time.Second

func watch(loc *time.Location, around time.Time) week {
	w := week{from: around.AddDate(0, 0, -4), to: around.AddDate(0, 0, 5)}
	for u := w.from; u.Before(w.to); u = u.Add(look) {
		l := u.In(loc)
		w.walls = append(w.walls, time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC))
	}
	return w
}

// runs is when the rule should run: by going through the notebook from top to bottom.
func (w week) runs(n naive, gap Gap, fold Fold) []int64 {
	var runs []int64
	instant := func(i int) int64 { return w.from.Add(time.Duration(i) * look).Unix() }
	seen := map[int64][]int64{}
	for i, wall := range w.walls {
		if n.holds(wall) {
			if !n.fixed {
				runs = append(runs, instant(i))
				continue
			}
			seen[wall.Unix()] = append(seen[wall.Unix()], instant(i))
		}
		if !n.fixed || i == 0 || gap == GapSkip {
			continue
		}
		skipped := false // between this look and the one before
		before := w.walls[i-1].Add(look)
		for s := before; s.Before(wall) && wall.Sub(before) < 24*time.Hour; s = s.Add(look) {
			skipped = skipped || n.holds(s)
		}
		if skipped {
			runs = append(runs, instant(i))
		}
	}
	for _, at := range seen {
		switch fold {
		case FoldSecond:
			runs = append(runs, at[len(at)-1])
		case FoldBoth:
			runs = append(runs, at...)
		default:
			runs = append(runs, at[0])
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// Nothing matches between t and Next(t), and everything else does: the engine against the notebook, for every rule in
// every odd week, forwards and backwards.
func TestOddWeeksByBruteForce(t *testing.T) {
	rules := []string{
		"30 2 * * *", "0 0 * * *", "15 1 * * *", "59 23 * * *", "1 0 * * *", "0,30 0,1,2,3 * * *", "45 1,23 * * 0", "30 12 30,31 12 *",
		"0 3 1-7 * 0", "0 2 * * 6,0", "30 0 1 * 1", "* * * * *", "*/15 * * * *", "0 * * * *", "30 */2 * * *", "10 0-4 * * *", "0 0-23/3 */2 * *",
		"30 30 1 * * *", "*/30 59 * * * *", "0 30 2-3 * * *",
	}
	for _, o := range oddWeeks {
		t.Run(strings.ReplaceAll(o.zone, "/", "-")+" "+o.around, func(t *testing.T) {
			t.Parallel()
			loc := zoneOf(t, o.zone)
			around, _ := time.Parse(day, o.around)
			w := watch(loc, around)
			_, first := w.from.In(loc).Zone()
			_, mid := around.AddDate(0, 0, 2).In(loc).Zone()
			if (first == mid) != strings.Contains(o.odd, "cancel") {
				t.Errorf("the offset goes from %d to %d: %s", first, mid, o.odd)
			}
			for _, expr := range rules {
				n := naiveRule(t, expr)
				for _, knob := range []Options{{}, {Gap: GapSkip, Fold: FoldSecond}, {Fold: FoldBoth}} {
					if !n.fixed && knob != (Options{}) {
						continue
					}
					knob.Zone = loc
					compare(t, parse(t, expr, knob), w, w.runs(n, knob.Gap, knob.Fold), fmt.Sprintf("%s %s/%s", expr, knob.Gap, knob.Fold))
				}
			}
		})
	}
}

// compare drops a day at both ends, where the notebook cannot see a change coming.
func compare(t *testing.T, e Times, w week, all []int64, what string) {
	t.Helper()
	from, to := w.from.AddDate(0, 0, 1), w.to.AddDate(0, 0, -1)
	var want []int64
	for _, u := range all {
		if u > from.Unix() && u < to.Unix() {
			want = append(want, u)
		}
	}
	i := 0
	for u := e.Next(from); u.Before(to) && !u.IsZero(); u = e.Next(u) {
		if i == len(want) || u.Unix() != want[i] {
			t.Errorf("%s: run %d is %v", what, i, u)
			return
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%s: after %d runs none at %v", what, i, time.Unix(want[i], 0).UTC())
		return
	}
	// Backwards: all of them for sparse rules, some for dense ones.
	for k := len(want) - 1; k > 0; k -= 1 + len(want)/50 {
		if p := e.Prev(time.Unix(want[k], 0)); p.Unix() != want[k-1] {
			t.Errorf("%s: before %v comes %v", what, time.Unix(want[k], 0).UTC(), p)
			return
		}
	}
}

// icalRuns is when an RRULE should run: each matching wall time at its first look, or if the clock skipped it as long
// after the gap began as the wall time lies after the beginning of the gap.
func (w week) icalRuns(n naive) []int64 {
	var runs []int64
	seen := map[int64]bool{}
	for i, wall := range w.walls {
		u := w.from.Add(time.Duration(i) * look)
		if n.holds(wall) && !seen[wall.Unix()] {
			seen[wall.Unix()] = true
			runs = append(runs, u.Unix())
		}
		if i == 0 {
			continue
		}
		before := w.walls[i-1].Add(look)
		for s := before; s.Before(wall); s = s.Add(look) {
			if n.holds(s) {
				runs = append(runs, u.Add(s.Sub(before)).Unix())
			}
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

func TestOddWeeksByRRule(t *testing.T) {
	rules := map[string]string{
		"30 2 * * *":             "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
		"0 0 * * *":              "FREQ=DAILY;BYHOUR=0;BYMINUTE=0",
		"15,45 0,1,2,3,23 * * *": "FREQ=DAILY;BYHOUR=0,1,2,3,23;BYMINUTE=15,45",
		"20 * * * *":             "FREQ=HOURLY;BYMINUTE=20",
		"* * * * *":              "FREQ=MINUTELY",
		"0 3 * * 0,6":            "FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=3;BYMINUTE=0",
	}
	for _, o := range oddWeeks {
		loc := zoneOf(t, o.zone)
		around, _ := time.Parse(day, o.around)
		w := watch(loc, around)
		for expr, text := range rules {
			r := parseRule(t, "DTSTART;TZID="+o.zone+":19700101T000000\nRRULE:"+text, Options{})
			compare(t, r, w, w.icalRuns(naiveRule(t, expr)), text+" in "+o.zone+" around "+o.around)
		}
	}
}

func TestADailyRuleRunsOnceADay(t *testing.T) {
	zones := []string{
		"UTC", "America/New_York", "Europe/Sofia", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "America/Santiago", "America/Havana",
		"Antarctica/Troll", "Asia/Tehran", "Africa/Casablanca", "Pacific/Chatham", "Asia/Gaza", "Europe/Dublin", "Pacific/Apia",
	}
	for _, zone := range zones {
		loc := zoneOf(t, zone)
		for _, expr := range []string{"0 0 * * *", "30 0 * * *", "0 1 * * *", "30 1 * * *", "15 2 * * *", "30 2 * * *", "0 3 * * *", "30 3 * * *", "30 23 * * *"} {
			e := parse(t, expr, Options{Zone: loc})
			date := civil.DayOf(2011, 1, 1)
			u := e.Next(time.Date(2010, 12, 31, 23, 59, 0, 0, loc))
			for ; date < civil.DayOf(2028, 1, 1); date++ {
				if zone == "Pacific/Apia" && date == civil.DayOf(2011, 12, 30) {
					continue // did not exist
				}
				if civilDays(u) != date {
					y, m, d := civil.DateOf(date)
					t.Fatalf("%s in %s: on %d-%02d-%02d the run is %v", expr, zone, y, m, d, u)
				}
				u = e.Next(u)
			}
		}
	}
}
