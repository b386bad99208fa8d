package schedule

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

// clockRule is a rule of whole minutes in two forms: as a rule of Belfry, and as a
// predicate for every single minute.
type clockRule struct {
	cron    string
	matches func(hour, minute int) bool
}

var clockRules = []clockRule{
	{"* * * * *", func(_, _ int) bool { return true }},
	{"*/7 * * * *", func(_, m int) bool { return m%7 == 0 }},
	{"5,20,50 * * * *", func(_, m int) bool { return m == 5 || m == 20 || m == 50 }},
	{"0 */3 * * *", func(h, m int) bool { return h%3 == 0 && m == 0 }},
	{"30 9 * * *", func(h, m int) bool { return h == 9 && m == 30 }},
}

// naive is the reference model: it tests every minute and keeps lists.
type naive struct {
	s     Schedule
	rules []clockRule
	facts Facts
}

func (n naive) matches(t time.Time) bool {
	inSpan := (n.s.Start.IsZero() || !t.Before(n.s.Start)) && (n.s.End.IsZero() || !t.After(n.s.End))
	return inSpan && slices.ContainsFunc(n.rules, func(r clockRule) bool { return r.matches(t.Hour(), t.Minute()) })
}

// minutes returns all matching minutes in (after, upTo].
func (n naive) minutes(after, upTo time.Time) (list []time.Time) {
	for t := after.Truncate(time.Minute); !t.After(upTo); t = t.Add(time.Minute) {
		if t.After(after) && n.matches(t) {
			list = append(list, t)
		}
	}
	return list
}

// nextMinute returns the first matching minute after t. No rule here pauses for more
// than a day.
func (n naive) nextMinute(t time.Time) time.Time {
	if t.Before(n.s.Start) {
		t = n.s.Start.Add(-time.Minute)
	}
	list := n.minutes(t, t.Add(25*time.Hour))
	if len(list) == 0 {
		return time.Time{}
	}
	return list[0]
}

// verdict is a decision of the model.
type verdict struct {
	Became    map[time.Time]string // decisions by nominal time
	Waited    map[time.Time]string // decisions about formerly buffered times
	Cancel    []int64
	Terminate []int64
	HighWater time.Time
	NextAt    time.Time
	Runs      int64
	State     State
}

// fire returns the expected result of Fire.
func (n naive) fire(now time.Time) verdict {
	v := verdict{Became: map[time.Time]string{}, Waited: map[time.Time]string{}, HighWater: n.s.HighWater, Runs: n.s.Runs, State: n.s.State}
	pending := n.minutes(n.s.HighWater, now)
	kept := n.catchUp(pending, now, v.Became)
	if len(pending) > 0 {
		v.HighWater = pending[len(pending)-1]
	}
	active, waiting := slices.Clone(n.facts.Active), []time.Time(nil)
	for _, o := range n.facts.Buffered {
		waiting = append(waiting, o.Nominal)
	}
	var started []time.Time // times that start now, in order
	takeBack := func() {
		for _, t := range started {
			v.Became[t] = "skipped replaced"
			v.Runs--
		}
		started = nil
	}
	begin := func(t time.Time) {
		v.Became[t] = "job"
		v.Runs++
		started = append(started, t)
	}
	for _, t := range kept {
		busy := len(active)+len(started) > 0
		room := map[Overlap]int{OverlapBufferOne: 1, OverlapBufferAll: n.s.BufferMax}[n.s.Overlap]
		switch {
		case n.s.MaxRuns > 0 && v.Runs+int64(len(waiting)) >= n.s.MaxRuns:
			v.Became[t] = "skipped max_runs"
		case !busy, n.s.Overlap == OverlapAllow:
			begin(t)
		case n.s.Overlap == OverlapSkip:
			v.Became[t] = "skipped overlap"
		case n.s.Overlap == OverlapTerminateOther:
			v.Terminate = append(v.Terminate, active...)
			active = nil
			takeBack()
			begin(t)
		case n.s.Overlap == OverlapCancelOther && len(active) == 0:
			takeBack()
			begin(t)
		case n.s.Overlap == OverlapCancelOther:
			v.Cancel = active
			for _, w := range waiting {
				if _, now := v.Became[w]; now {
					v.Became[w] = "skipped replaced"
				} else {
					v.Waited[w] = "skipped replaced"
				}
			}
			v.Became[t], waiting = "buffered", []time.Time{t}
		case len(waiting) < room:
			v.Became[t], waiting = "buffered", append(waiting, t)
		default:
			v.Became[t] = "skipped buffer_full"
		}
	}
	reached := n.s.MaxRuns > 0 && v.Runs+int64(len(waiting)) >= n.s.MaxRuns
	if !reached {
		v.NextAt = n.nextMinute(v.HighWater)
	}
	if v.NextAt.IsZero() && len(waiting) == 0 {
		v.State = Completed
	}
	return v
}

// catchUp returns the missed times that may run, and records the others as skipped.
func (n naive) catchUp(pending []time.Time, now time.Time, became map[time.Time]string) []time.Time {
	window, most, old, young := n.s.CatchupWindow.D(), 1, "skipped catchup_window", "skipped catchup_latest"
	switch n.s.Catchup {
	case CatchupAll:
		most, young = n.s.CatchupMax, "skipped catchup_max"
	case CatchupNone:
		window, old = 10*time.Second, "skipped catchup_none"
	}
	var kept []time.Time
	for _, t := range pending {
		if now.Sub(t) > window {
			became[t] = old
		} else {
			kept = append(kept, t)
		}
	}
	for len(kept) > most {
		became[kept[0]] = young
		kept = kept[1:]
	}
	return kept
}

// spreadOut converts a decision of Belfry to that of the model: a row of several times
// becomes one entry for each.
func (n naive) spreadOut(t *rapid.T, f Firing) verdict {
	v := verdict{Became: map[time.Time]string{}, Waited: map[time.Time]string{}, Cancel: f.Cancel, Terminate: f.Terminate,
		HighWater: f.HighWater, NextAt: f.NextAt, Runs: f.Runs, State: f.State}
	for _, o := range f.Occurrences {
		for _, at := range n.timesOf(t, o) {
			if _, twice := v.Became[at]; twice {
				t.Fatalf("%s is decided twice in one firing", in(at))
			}
			v.Became[at] = said(o)
		}
	}
	for _, o := range f.Unbuffered {
		v.Waited[o.Nominal] = said(o)
	}
	return v
}

// timesOf returns the nominal times that a row represents.
func (n naive) timesOf(t *rapid.T, o Occurrence) []time.Time {
	if o.Count == 1 {
		return []time.Time{o.Nominal}
	}
	list := n.minutes(o.Nominal.Add(-time.Second), o.Until)
	if len(list) == 0 || !list[0].Equal(o.Nominal) || !list[len(list)-1].Equal(o.Until) || o.Count != min(len(list), core.CountLimit+1) {
		t.Fatalf("%s should stand for %d times", occurrenceText(o), len(list))
	}
	return list
}

func said(o Occurrence) string {
	if o.Reason == "" {
		return string(o.Decision)
	}
	return string(o.Decision) + " " + string(o.Reason)
}

var (
	overlaps = []Overlap{OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther, OverlapAllow}
	catchups = []Catchup{CatchupNone, CatchupLatest, CatchupAll}
)

func minutesAfter(t *rapid.T, from time.Time, least, most int, label string) time.Time {
	return from.Add(time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute)
}

// drawPolicy sets random policies.
func drawPolicy(t *rapid.T, s *Schedule) {
	s.Catchup = rapid.SampledFrom(catchups).Draw(t, "catchup")
	s.CatchupWindow = core.Duration(rapid.SampledFrom([]time.Duration{time.Minute, 30 * time.Minute, time.Hour, 5 * time.Hour}).Draw(t, "window"))
	s.CatchupMax = rapid.IntRange(1, 6).Draw(t, "catchup max")
	s.Overlap = rapid.SampledFrom(overlaps).Draw(t, "overlap")
	s.BufferMax = rapid.IntRange(1, 4).Draw(t, "buffer max")
	s.MaxRuns = rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 5, 40}).Draw(t, "max runs")
}

// drawTimes sets random rules, start and end.
func drawTimes(t *rapid.T, n *naive, now time.Time, finish bool) {
	s := &n.s
	s.Rules, n.rules, s.Start, s.End = nil, nil, time.Time{}, time.Time{}
	count := rapid.IntRange(0, 2).Draw(t, "rules")
	if !finish {
		count = max(count, 1)
	}
	for range count {
		r := rapid.SampledFrom(clockRules).Draw(t, "rule")
		n.rules = append(n.rules, r)
		s.Rules = append(s.Rules, Rule{Cron: r.cron})
	}
	if finish && (count == 0 || rapid.Bool().Draw(t, "from the finish")) {
		every := core.Duration(rapid.IntRange(1, 40).Draw(t, "every")) * core.Duration(time.Minute)
		s.Rules = append(s.Rules, Rule{Every: every, Anchor: AnchorFinish})
	}
	if rapid.IntRange(0, 3).Draw(t, "with start") == 0 {
		s.Start = minutesAfter(t, now, -600, 600, "start")
	}
	if rapid.IntRange(0, 3).Draw(t, "with end") == 0 {
		s.End = minutesAfter(t, core.Later(now, s.Start), 1, 3000, "end")
	}
	*s = s.WithDefaults()
}

func TestFireDecidesAsTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := at("2026-03-02T00:00")
		n := naive{s: Schedule{ID: 1, Name: "s", Task: "t", State: Active}}
		drawPolicy(t, &n.s)
		n.s.HighWater = minutesAfter(t, base, 0, 1440, "high water")
		now := minutesAfter(t, n.s.HighWater, -90, 2000, "now").Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 9, 10, 11, 59}).Draw(t, "seconds")) * time.Second)
		drawTimes(t, &n, base, false)
		n.s.Runs = rapid.Int64Range(0, 5).Draw(t, "runs")
		for i := range rapid.IntRange(0, 3).Draw(t, "active") {
			n.facts.Active = append(n.facts.Active, int64(i+1))
		}
		if len(n.facts.Active) > 0 {
			for i := range rapid.IntRange(0, 4).Draw(t, "buffered") {
				o := Occurrence{ScheduleID: 1, Nominal: n.s.HighWater.Add(time.Duration(i-10) * time.Hour), Count: 1, Decision: DecidedBuffered}
				n.facts.Buffered = append(n.facts.Buffered, o)
			}
		}
		plan, err := n.s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		got, want := n.spreadOut(t, Fire(n.s, plan, n.facts, now)), n.fire(now)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, at %s\ngot  %s\nwant %s", n.s.RuleText(), in(now), got, want)
		}
	})
}

func (v verdict) String() string {
	text := ""
	for _, m := range []map[time.Time]string{v.Became, v.Waited} {
		for _, t := range slices.SortedFunc(maps.Keys(m), time.Time.Compare) {
			text += in(t) + " " + m[t] + "; "
		}
		text += "| "
	}
	return text + fmt.Sprintf("cancel %v terminate %v mark %s next %s runs %d %s", v.Cancel, v.Terminate, in(v.HighWater), in(v.NextAt), v.Runs, v.State)
}
