//go:build oracles

package oracles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// cronTimes is the number of compared times of a rule.
const cronTimes = 12

var cronZones = []string{
	"America/New_York", "Europe/Sofia", "Europe/London", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana",
	"America/Santiago", "Pacific/Chatham", "Antarctica/Troll", "Atlantic/Azores", "America/St_Johns", "Africa/Cairo", "Asia/Kathmandu",
}

const firstYear, lastYear = 2024, 2036

// TestCron compares expressions in UTC with every engine, and in zones with the engines that document their handling of
// daylight saving, with their settings.
func TestCron(t *testing.T) {
	t.Parallel()
	rules, seed := plan(t)
	node, python := startNode(t), startPython(t)
	versions(t, node)
	versions(t, python)
	zones := sameZones(t, node, cronZones, firstYear, lastYear, 6)
	kept := make([]string, 0, len(zones))
	for _, zone := range cronZones {
		if len(zones[zone]) > 0 {
			kept = append(kept, zone)
		}
	}
	tally := newTally(t)
	for i := range rules {
		d := newDice(seed, i)
		r := randomCron(d)
		r.place(d, zones, kept)
		ours, err := cron.Parse(r.text(), r.options(t))
		if err != nil && !nothing(err) {
			if twoReadings(err) {
				tally.add("(ours)", "refused: can be read in two ways")
				continue
			}
			t.Errorf("rule %d: %s: got error %v", i, r, err)
			continue
		}
		for _, e := range cronEngines {
			if r.zone != "UTC" && !e.zones || e.name == "croner" && (r.gap != "run_after" || r.fold != "first") {
				continue
			}
			if diff := differenceFor(e.name, r, nil); diff != nil {
				tally.add(e.name, "not compared: "+diff.class)
				continue
			}
			c := node
			if e.python {
				c = python
			}
			began := time.Now()
			a, err := c.ask(e.query(r))
			tally.spent[e.name] += time.Since(began)
			switch {
			case errors.Is(err, errTooLong):
				tally.add(e.name, "gave no answer in time")
				continue
			case err != nil:
				t.Fatal(err)
			case a.Error != "" && ours == nil && len(a.Times) == 0:
				tally.add(e.name, "agrees that nothing matches")
				continue
			case a.Error != "" && !e.ended(a.Error):
				tally.fail()
				t.Errorf("rule %d: %s: %s refuses %q: %s", i, r, e.name, e.text(r), a.Error)
				continue
			}
			if got, want := ourTimes(ours, r.from, len(a.Times), a.More), a.Times; !slices.Equal(got, want) {
				tally.fail()
				t.Errorf("rule %d: %s, %s %q\n  %s", i, r, e.name, e.text(r), show(want, got))
				continue
			}
			tally.add(e.name, "compared")
			if r.zone != "UTC" {
				tally.add(e.name, "  of these in zones with daylight saving")
				if crossesSeam(zones[r.zone], r.from, a.Times) {
					tally.add(e.name, "  of these across a change of the clock")
				}
			}
		}
	}
	tally.print(rules)
}

// place gives a rule its zone, start and settings. In a zone the start is before a change of the clock, nearer for rules
// that run often.
func (r *cronRule) place(d dice, zones map[string][]int64, kept []string) {
	r.zone = "UTC"
	r.from = time.Date(d.between(firstYear, lastYear-2), time.Month(d.between(1, 12)), d.between(1, 31), d.between(0, 23), d.between(0, 59), d.between(0, 59), 0, time.UTC).Unix()
	if d.chance(45) {
		return
	}
	r.zone = oneOf(d, kept...)
	if d.chance(70) { // a time of day at which the clocks change
		r.columns[hour] = column{at: hour}
		if d.chance(60) {
			for n := range d.between(1, 2) {
				r.columns[hour].add([]string{"0", "1", "2", "3", "23"}[(d.IntN(4)+n*2)%5], value)
			}
		} else {
			r.columns[hour].add(oneOf(d, "*", "0-3", "1-2", "*/2", "1,2-3"), span)
		}
	}
	back := oneOf(d, 5*60, 3600, 3*3600, 20*3600, 86400, 6*86400, 40*86400)
	r.from = oneOf(d, zones[r.zone]...) - int64(d.IntN(back)) - 1
	if r.listed() {
		r.gap, r.fold = oneOf(d, "run_after", "run_after", "skip"), oneOf(d, "first", "first", "both")
	}
}

func (r *cronRule) options(t *testing.T) cron.Options {
	t.Helper()
	loc, err := cron.LoadZone(r.zone)
	if err != nil {
		t.Fatal(err)
	}
	return cron.Options{Zone: loc, Gap: cron.Gap(r.gap), Fold: cron.Fold(r.fold)}
}

// nothing reports whether an error says that a rule names no time.
func nothing(err error) bool {
	var e *cron.Error
	return errors.As(err, &e) && (strings.HasPrefix(e.Msg, "never ") || strings.HasPrefix(e.Msg, "lies before DTSTART"))
}

func twoReadings(err error) bool {
	var e *cron.Error
	return errors.As(err, &e) && strings.HasPrefix(e.Msg, "can be read in two ways")
}

// ourTimes returns as many of our times as the engine returned, and one more if the engine reports the end of the series.
func ourTimes[T cron.Times](ours T, from int64, n int, more bool) []int64 {
	if any(ours) == any(*new(T)) {
		return nil
	}
	if !more {
		n++
	}
	list := []int64{}
	for _, u := range cron.Upcoming(ours, time.Unix(from, 0), n) {
		list = append(list, u.Unix())
	}
	return list
}

func crossesSeam(seams []int64, from int64, times []int64) bool {
	if len(times) == 0 {
		return false
	}
	for _, u := range seams {
		if from < u && u <= times[len(times)-1] {
			return true
		}
	}
	return false
}

// cronEngine describes the requests to one engine: its notation of a rule, and its error at the end of the times.
type cronEngine struct {
	name   string
	python bool
	zones  bool // documents its handling of daylight saving
	text   func(r *cronRule) string
	ends   []string
}

func (e *cronEngine) ended(msg string) bool {
	return slices.ContainsFunc(e.ends, func(s string) bool { return strings.Contains(msg, s) })
}

func (e *cronEngine) query(r *cronRule) query {
	q := query{Engine: e.name, Zone: r.zone, N: cronTimes, Rule: e.text(r), From: r.from, Fixed: r.listed(), And: r.both() && e.python}
	if e.name == "cronosjs" && r.listed() {
		q.Fold = r.fold
		q.Gap = map[string]string{"run_after": "insert", "skip": "skip"}[r.gap]
	}
	return q
}

var cronEngines = []*cronEngine{
	{name: "croner", zones: true, text: cronerText},
	{name: "cronosjs", zones: true, text: (*cronRule).text},
	{name: "cron-parser", text: (*cronRule).text, ends: []string{"Out of the time span range", "loop limit"}},
	{name: "croniter", python: true, text: croniterText, ends: []string{"CroniterBadDateError"}},
}

// cronerText writes a + if a star requires both day fields, since croner does not read a star so.
func cronerText(r *cronRule) string {
	s := *r
	s.plus = r.plus || r.falseStar()
	return s.text()
}

// croniterText puts the seconds last, writes the last Friday as L5, and knows neither ? nor +.
func croniterText(r *cronRule) string {
	s := *r
	s.plus = false
	s.columns = slices.Clone(r.columns)
	for _, at := range []int{day, weekday} {
		c := &s.columns[at]
		c.texts = slices.Clone(c.texts)
		for i, text := range c.texts {
			switch c.kinds[i] {
			case question:
				c.texts[i] = "*"
			case value:
				if at == weekday && text == "7" {
					c.texts[i] = "0" // in six fields croniter does not know 7
				}
			case lastOf:
				n := slices.Index(names[weekday], strings.ToUpper(text[:len(text)-1]))
				if n < 0 {
					n = int(text[0] - '0')
				}
				c.texts[i] = fmt.Sprintf("L%d", n)
			}
		}
	}
	text := s.text()
	if r.fields() == 6 {
		first, rest, _ := strings.Cut(text, " ")
		text = rest + " " + first
	}
	return text
}
