//go:build oracles

package oracles

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// difference is a class of rules that one engine reads differently, or cannot read, so they are not compared with it. Each
// class has an example, which TestDifferences checks with the engine: an example that no longer differs fails.
type difference struct {
	engine  string
	class   string
	reason  string
	cron    func(r *cronRule) bool
	rrule   func(r *rrule) bool
	example string
}

var differences = []difference{
	// crontab(5) of Vixie cron, cronie and Debian requires both day fields if one begins with a star. None of the four
	// engines reads */2 so. croner and croniter have a notation of their own for both (see cronerText and query), so these
	// rules are compared all the same.
	{"cronosjs", "a day field that starts with a star and says something, beside another", "one of both fields is enough for it",
		(*cronRule).falseStar, nil, "0 0 */2 * 5"},
	{"cron-parser", "a day field that starts with a star and says something, beside another", "one of both fields is enough for it",
		(*cronRule).falseStar, nil, "0 0 */2 * 5"},
	{"cronosjs", "+ before the weekday", "has no word for both", plus, nil, "0 0 13 * +5"},
	{"cron-parser", "+ before the weekday", "has no word for both", plus, nil, "0 0 13 * +5"},

	// Rules that some engines cannot read.
	{"croner", "ranges that wrap", "refuses them", wraps, nil, "0 0 * * FRI-MON"},
	{"cron-parser", "ranges that wrap", "refuses them", wraps, nil, "0 22-2 * * *"},
	{"croniter", "ranges that wrap", "refuses them", wraps, nil, "0 22-2 * * *"},
	{"cronosjs", "ranges of days of the month that wrap", "refuses them", has(day, wrap, wrapStep), nil, "0 0 28-3 * *"},
	{"croner", "L-n", "refuses it", has(day, lastLess), nil, "0 0 L-3 * *"},
	{"cronosjs", "L-n", "refuses it", has(day, lastLess), nil, "0 0 L-3 * *"},
	{"cron-parser", "L-n", "refuses it", has(day, lastLess), nil, "0 0 L-3 * *"},
	{"croniter", "L-n", "refuses it", has(day, lastLess), nil, "0 0 L-3 * *"},
	{"cron-parser", "W", "refuses it", has(day, nearWork, lastWork), nil, "0 0 15W * *"},
	{"croniter", "W", "refuses it", has(day, nearWork, lastWork), nil, "0 0 15W * *"},
	{"croner", "LW in a list", "refuses it", inList(day, lastWork), nil, "0 0 15,LW * *"},
	{"cron-parser", "# beside other items", "refuses it", inList(weekday, nthOf), nil, "0 0 * * SUN#1,MON#2"},
	{"croniter", "# or L beside plain weekdays", "refuses it", nthBesidePlain, nil, "0 0 * * 5L,3 => 0 0 * * L5,3"},
	{"cron-parser", "a list that names a value twice", "refuses it", repeats, nil, "0 0,0-4 * * *"},
	{"cron-parser", "seven fields", "refuses them", seven, nil, "0 0 0 1 1 * 2030"},
	{"croniter", "seven fields", "refuses them", seven, nil, "0 0 0 1 1 * 2030"},

	// Rules that some engines read differently.
	{"cronosjs", "the workday nearest to a day that the month lacks", "takes the last workday of the month; we, as croner, take none",
		lateWorkday, nil, "0 0 31W * *"},
	{"croner", "*/n in the year field", "counts from year 0; we, as cronosjs and Quartz, from 1970", has(year, starStep), nil, "0 0 0 1 1 * */15"},
	{"cron-parser", "a/n of a weekday whose steps meet 7", "counts to 7, which is Sunday; we, as croner and cronosjs, to 6", stepsTo7, nil, "0 0 * * 1/3"},
	{"croniter", "a/n of a weekday whose steps meet 7", "counts to 7, which is Sunday; we, as croner and cronosjs, to 6", stepsTo7, nil, "0 0 * * 1/3"},
	{"croniter", "a day field that lists all its values, beside another", "takes it for a star", fullDays, nil, "0 0 13 * 0-6"},

	{"croner", "a range of times in a zone", "follows real time; for us, as for Debian's cron, a range names fixed times",
		rangeOfTimes, nil, "TZ=Europe/Berlin@1950741149 36-37 2 * * *"},
	{"cronosjs", "a range of times in a zone", "follows real time; for us, as for Debian's cron, a range names fixed times",
		rangeOfTimes, nil, "TZ=Europe/Berlin@1950741149 36-37 2 * * *"},

	// Faults of the engines.
	{"croner", "a range from Sunday to Sunday", "reads SUN-SUN as 0-7, every day", has(weekday, sunToSun), nil, "0 0 * * SUN-SUN"},
	{"cronosjs", "ranges of weekdays up to 7", "takes Sunday alone from 0-7", has(weekday, toSeven), nil, "0 0 * * 0-7"},
	{"cronosjs", "*/1 in a day field beside other items", "takes it for a lone star, which other items override", uselessStep, nil, "0 9 * * */1,SAT#5"},
	{"croniter", "# or L beside a restricted day of the month", "asks for both", nthOrDay, nil, "0 0 13 * 5#3"},
	{"croniter", "ranges of weekdays up to 7 in six fields", "finds nothing", sixToSeven, nil, "0 0 0 * * 7-7 => 0 0 * * 7-7 0"},
	{"croniter", "days of the month above 28", "may miss the first of March", lateDay, nil, "TZ=UTC@2022010036 0 3 */10 * *"},
	{"cronosjs", "a clock that changes off the full hour, or not by one hour", "gives times that do not match, or misses some",
		oddClock, nil, "TZ=Australia/Lord_Howe@1728087639 7,15,16 0-3 * * *"},
	{"cronosjs", "a repeated hour before midnight", "may miss the first of the two",
		midnightFold, nil, "TZ=America/Santiago@1806759668 43-45 3,23 * * *"},
	{"cronosjs", "one time an hour, when a repeated hour counts twice", "gives the same time for ever",
		stuck, nil, "TZ=America/New_York@1793448000 30 0-3 * * *"},

	// Three deviations of dateutil from RFC 5545, in which rrule-temporal reads the rule as we do.
	{"dateutil", "BYWEEKNO without BYDAY", "takes all seven days; section 3.3.10 derives the weekday from DTSTART",
		nil, anyPart(weekAlone), "DTSTART:19970512T090000Z|FREQ=YEARLY;BYWEEKNO=20"},
	{"dateutil", "WEEKLY with BYSETPOS", "counts the first week from DTSTART on, not from its first day",
		nil, anyPart(weekPositions), "DTSTART:19970902T090000Z|FREQ=WEEKLY;BYDAY=MO,TU,SA;BYSETPOS=1"},
	{"dateutil", "BYDAY that mixes weekdays with and without numbers", "finds only days that are both",
		nil, anyPart(mixedDays), "DTSTART:19970902T090000Z|FREQ=MONTHLY;BYDAY=1MO,FR"},

	// Faults of dateutil. ISO 8601 defines the year of a week.
	{"dateutil", "BYWEEKNO 53, -53 and -52", "counts the wrong weeks around New Year",
		nil, anyPart(edgeWeeks), "DTSTART:20100404T090000Z|FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU"},
	{"dateutil", "BYDAY with numbers above 5 within months", "fails",
		nil, anyPart(bigNumbers), "DTSTART:19950526T020058Z|FREQ=YEARLY;BYMONTH=4;BYDAY=53SA,1MO"},

	// Limits, readings and faults of rrule-temporal. In all of them dateutil reads the rule as we do, apart from the mixed
	// BYDAY of a year, in which both deviate.
	{"rrule-temporal", "UNTIL on the wall clock beside TZID", "refuses it, as the RFC does; we are lenient",
		nil, localUntil, "DTSTART;TZID=Europe/Sofia:20240331T021800|FREQ=DAILY;UNTIL=20250101T000000"},
	{"rrule-temporal", "hours, minutes or seconds in a zone", "counts in real time; we on the wall clock",
		nil, shortInZone, "DTSTART;TZID=Europe/Sofia:20260328T000000|FREQ=HOURLY;INTERVAL=5"},
	{"rrule-temporal", "BYWEEKNO with INTERVAL or BYSETPOS", "counts a week for the year of its number; we for the calendar year of its days",
		nil, anyPart(weekOfYears), "DTSTART:20011018T160000Z|FREQ=YEARLY;BYWEEKNO=1;INTERVAL=4;BYDAY=MO,WE"},
	{"rrule-temporal", "DTSTART in a gap", "keeps DTSTART, while it leaves out all other times in a gap",
		nil, func(r *rrule) bool { return !r.exists() }, "DTSTART;TZID=Europe/Sofia:20240331T033000|FREQ=DAILY"},
	{"rrule-temporal", "BYDAY with and without numbers in a year", "leaves out those without, while it keeps them in a month",
		nil, anyPart(mixedYear), "DTSTART:20020526T150000Z|FREQ=YEARLY;BYDAY=MO,38SA"},
	{"rrule-temporal", "two of BYWEEKNO, BYYEARDAY, BYMONTHDAY and BYDAY", "does not ask for both",
		nil, anyPart(twoDayParts), "DTSTART:20240331T021800Z|FREQ=YEARLY;BYMONTHDAY=-5;BYWEEKNO=31"},
	{"rrule-temporal", "the 53rd weekday of a year", "takes the 52nd when there is no other",
		nil, anyPart(weekday53), "DTSTART:19950121T152200Z|FREQ=YEARLY;BYDAY=-53WE"},
}

func plus(r *cronRule) bool  { return r.plus }
func wraps(r *cronRule) bool { return r.any(wrap, wrapStep) }
func seven(r *cronRule) bool { return r.fields() == 7 }
func repeats(r *cronRule) bool {
	return slices.ContainsFunc(r.columns, func(c column) bool { return c.repeats() })
}

func has(at int, kinds ...kind) func(r *cronRule) bool {
	return func(r *cronRule) bool { return r.columns[at].has(kinds...) }
}

func anyPart(is func(p part) bool) func(r *rrule) bool {
	return func(r *rrule) bool { return r.any(is) }
}

func weekAlone(p part) bool {
	return p.has("BYWEEKNO") && !p.has("BYDAY") && !p.has("BYMONTHDAY") && !p.has("BYYEARDAY")
}

func twoDayParts(p part) bool {
	n := 0
	for _, key := range []string{"BYWEEKNO", "BYYEARDAY", "BYMONTHDAY"} {
		if p.has(key) {
			n++
		}
	}
	if p["FREQ"] == "YEARLY" && (p.has("BYYEARDAY", "BYDAY") || strings.ContainsAny(p["BYDAY"], "123456789")) {
		n++
	}
	return n > 1 && !shortPeriod(p) || n > 2
}

func shortPeriod(p part) bool {
	return slices.Contains([]string{"HOURLY", "MINUTELY", "SECONDLY"}, p["FREQ"])
}

func edgeWeeks(p part) bool {
	return slices.ContainsFunc(strings.Split(p["BYWEEKNO"], ","), func(s string) bool { return s == "53" || s == "-53" || s == "-52" })
}

func bigNumbers(p part) bool {
	if p["FREQ"] == "YEARLY" && !p.has("BYMONTH") {
		return false
	}
	return slices.ContainsFunc(strings.Split(p["BYDAY"], ","), func(s string) bool {
		n, _ := strconv.Atoi(strings.TrimLeft(s[:max(0, len(s)-2)], "-"))
		return n > 5
	})
}

func mixedDays(p part) bool {
	list := strings.Split(p["BYDAY"], ",")
	plain := func(s string) bool { return len(s) == 2 }
	return slices.ContainsFunc(list, plain) && slices.ContainsFunc(list, func(s string) bool { return !plain(s) })
}

func oddClock(r *cronRule) bool {
	return slices.Contains([]string{"Australia/Lord_Howe", "Pacific/Chatham", "Antarctica/Troll"}, r.zone)
}

func stepsTo7(r *cronRule) bool {
	for i, k := range r.columns[weekday].kinds {
		var from, step int
		name, by, _ := strings.Cut(r.columns[weekday].texts[i], "/")
		if k != openStep {
			continue
		}
		if from = slices.Index(names[weekday], strings.ToUpper(name)); from < 0 {
			from = int(name[0] - '0')
		}
		if step, _ = strconv.Atoi(by); (7-from)%step == 0 {
			return true
		}
	}
	return false
}

func uselessStep(r *cronRule) bool {
	for _, c := range []column{r.columns[day], r.columns[weekday]} {
		if len(c.texts) > 1 && slices.Contains(c.texts, "*/1") {
			return true
		}
	}
	return false
}

func nthBesidePlain(r *cronRule) bool {
	c := r.columns[weekday]
	return c.has(nthOf, lastOf) && slices.ContainsFunc(c.kinds, func(k kind) bool { return k != nthOf && k != lastOf })
}

func inList(at int, k kind) func(r *cronRule) bool {
	return func(r *cronRule) bool { return r.columns[at].has(k) && len(r.columns[at].kinds) > 1 }
}

func fullDays(r *cronRule) bool {
	return !r.both() && (r.columns[day].full() || r.columns[weekday].full())
}

func nthOrDay(r *cronRule) bool   { return r.columns[weekday].has(nthOf, lastOf) && !r.both() }
func sixToSeven(r *cronRule) bool { return r.fields() == 6 && r.columns[weekday].has(toSeven) }

func lateDay(r *cronRule) bool {
	return slices.ContainsFunc(r.columns[day].values, func(n int) bool { return n > 28 && n < 100 })
}

// rangeOfTimes reports whether second, minute and hour have ranges, and none has a wildcard or a step through the field.
func rangeOfTimes(r *cronRule) bool {
	return r.zone != "UTC" && !r.listed() && !slices.ContainsFunc(r.columns[:day], func(c column) bool {
		return len(c.kinds) == 0 || c.has(star, question, starStep, openStep)
	})
}

// twice reports whether cronosjs counts a repeated hour twice.
func twice(r *cronRule) bool { return r.zone != "UTC" && (!r.listed() || r.fold == "both") }

func midnightFold(r *cronRule) bool {
	return slices.Contains([]string{"America/Santiago", "Asia/Beirut", "Africa/Cairo"}, r.zone)
}

func stuck(r *cronRule) bool { return twice(r) && r.onceAnHour() }

func weekPositions(p part) bool { return p["FREQ"] == "WEEKLY" && p.has("BYSETPOS") }
func mixedYear(p part) bool     { return p["FREQ"] == "YEARLY" && mixedDays(p) }
func weekOfYears(p part) bool {
	return p.has("BYWEEKNO") && (p.has("BYSETPOS") || p.has("INTERVAL") && p["INTERVAL"] != "1")
}
func weekday53(p part) bool     { return strings.Contains(p["BYDAY"], "53") }
func shortInZone(r *rrule) bool { return r.zone != "UTC" && r.any(shortPeriod) }

func localUntil(r *rrule) bool {
	return r.zone != "UTC" && r.any(func(p part) bool { return p.has("UNTIL") })
}

func lateWorkday(r *cronRule) bool {
	for _, text := range r.columns[day].texts {
		if text == "29W" || text == "30W" || text == "31W" {
			return true
		}
	}
	return false
}

func differenceFor(engine string, c *cronRule, r *rrule) *difference {
	for i := range differences {
		d := &differences[i]
		if d.engine == engine && (c != nil && d.cron != nil && d.cron(c) || r != nil && d.rrule != nil && d.rrule(r)) {
			return d
		}
	}
	return nil
}

// TestDifferences checks each example with its engine. An example is DTSTART and RRULE, or an expression, with a zone and a
// start in Unix seconds if it needs them, and after => the engine's own notation if it differs.
func TestDifferences(t *testing.T) {
	t.Parallel()
	python, node := startPython(t), startNode(t)
	for _, d := range differences {
		c := node
		if d.engine == "dateutil" || d.engine == "croniter" {
			c = python
		}
		var ours []int64
		var a answer
		var err error
		if d.rrule != nil {
			ours, a, err = d.askRRule(t, c)
		} else {
			ours, a, err = d.askCron(t, c)
		}
		switch {
		case err != nil:
			t.Errorf("%s, %s, %q: %v", d.engine, d.class, d.example, err)
		case a.Error == "" && slices.Equal(ours, a.Times):
			t.Errorf("%s, %s: %q no longer differs", d.engine, d.class, d.example)
		case a.Error != "":
			t.Logf("%s, %s, %q: %s", d.engine, d.class, d.example, a.Error)
		default:
			t.Logf("%s, %s, %q:\n  %s", d.engine, d.class, d.example, show(a.Times, ours))
		}
	}
}

const exampleTimes = 60

func (d *difference) askCron(t *testing.T, c *child) ([]int64, answer, error) {
	q := query{Engine: d.engine, Zone: "UTC", N: exampleTimes, From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
	text := d.example
	if rest, ok := strings.CutPrefix(text, "TZ="); ok {
		q.Zone, text, _ = strings.Cut(rest, " ")
	}
	if zone, from, ok := strings.Cut(q.Zone, "@"); ok {
		n, err := strconv.ParseInt(from, 10, 64)
		if err != nil {
			return nil, answer{}, err
		}
		q.Zone, q.From = zone, n
	}
	our, their, ok := strings.Cut(text, " => ")
	if !ok {
		their = our
	}
	loc, err := cron.LoadZone(q.Zone)
	if err != nil {
		t.Fatal(err)
	}
	e, err := cron.Parse(our, cron.Options{Zone: loc})
	if err != nil {
		return nil, answer{}, err
	}
	q.Rule = their
	a, err := c.ask(q)
	return ourTimes(e, q.From, exampleTimes, true), a, err
}

func (d *difference) askRRule(t *testing.T, c *child) ([]int64, answer, error) {
	start, rule, _ := strings.Cut(d.example, "|")
	e, err := cron.ParseRRule(start+"\nRRULE:"+rule, cron.Options{Gap: cron.GapSkip})
	if err != nil {
		return nil, answer{}, err
	}
	q := query{Engine: d.engine, Zone: "UTC", N: exampleTimes, Rule: start + "\nRRULE:" + rule, Rules: []string{rule}, Gap: "skip"}
	_, wall, _ := strings.Cut(start, ":")
	q.Start = strings.TrimSuffix(wall, "Z")
	a, err := c.ask(q)
	return ourTimes(e, veryEarly, exampleTimes, true), a, err
}

// tally counts the results of the rules.
type tally struct {
	t      *testing.T
	counts map[string]map[string]int
	failed int
	spent  map[string]time.Duration
}

func newTally(t *testing.T) *tally {
	return &tally{t: t, counts: make(map[string]map[string]int), spent: make(map[string]time.Duration)}
}

func (y *tally) add(engine, what string) {
	if y.counts[engine] == nil {
		y.counts[engine] = make(map[string]int)
	}
	y.counts[engine][what]++
}

// fail counts a difference and stops the test after twenty.
func (y *tally) fail() {
	if y.failed++; y.failed == 20 {
		y.print(0)
		y.t.Fatal("stopped after 20 differences")
	}
}

// least is the percentage of all rules that must be compared with an engine. Otherwise an exclusion that is too wide would
// not be noticed.
var least = map[string]int{"croner": 55, "cronosjs": 40, "cron-parser": 10, "croniter": 14, "dateutil": 70, "rrule-temporal": 25}

func (y *tally) print(rules int) {
	y.t.Helper()
	for _, engine := range slices.Sorted(maps.Keys(y.counts)) {
		for _, what := range slices.Sorted(maps.Keys(y.counts[engine])) {
			y.t.Logf("%-14s %6d %s", engine, y.counts[engine][what], what)
		}
		y.t.Logf("%-14s %6.1f seconds", engine, y.spent[engine].Seconds())
		if n := y.counts[engine]["compared"]; rules >= 200 && n*100 < rules*least[engine] {
			y.t.Errorf("rules compared with %[3]s: got %[1]d of %[2]d, want at least %[4]d %%", n, rules, engine, least[engine])
		}
	}
}
