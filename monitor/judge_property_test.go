package monitor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// ledger is the reference model of verdicts. It keeps all observations, has no states,
// and computes the state of each second independently.
type ledger struct {
	m       Monitor
	start   time.Time
	windows []ActiveWindow

	seen   []sighting // since the last start of the verdict
	floor  time.Time
	last   time.Time // nominal time of the last check, including errors
	failed bool      // the last check, including errors, was a failure
	paused bool
	until  time.Time

	held  map[time.Time]SpanState // verdict by its start
	over  []blank
	told  bool
	said  []alert.NotificationType
	downs []time.Time // starts of outages
}

type sighting struct {
	at     time.Time
	failed bool
}

// blank is a period without a verdict, with its reason.
type blank struct {
	from, to time.Time // to zero: open
	state    SpanState
}

func (b blank) has(t time.Time) bool {
	return !t.Before(b.from) && (b.to.IsZero() || t.Before(b.to))
}

// outages computes the verdicts, by their start, from all observations.
func (l *ledger) outages() (held SpanState, changes map[time.Time]SpanState) {
	held, changes = SpanUnknown, map[time.Time]SpanState{l.floor: SpanUnknown}
	for i, s := range l.seen {
		first := i
		for first > 0 && l.seen[first-1].failed == s.failed {
			first--
		}
		begin := l.seen[first].at
		n, lasted := i-first+1, s.at.Sub(begin)
		switch {
		case s.failed && held != SpanDown && n >= l.m.Confirm.Failures && lasted >= l.m.Confirm.For.D():
			held = SpanDown
		case !s.failed && held == SpanUnknown:
			held = SpanUp
		case !s.failed && held == SpanDown && n >= l.m.Recover.Passes && lasted >= l.m.Recover.For.D():
			held = SpanUp
		default:
			continue
		}
		changes[begin] = held
	}
	return held, changes
}

func (l *ledger) verdict() Verdict {
	held, _ := l.outages()
	failing := len(l.seen) > 0 && l.seen[len(l.seen)-1].failed
	switch {
	case held == SpanUnknown:
		return VerdictNew
	case held == SpanUp && failing:
		return VerdictConfirming
	case held == SpanUp:
		return VerdictUp
	case failing:
		return VerdictDown
	}
	return VerdictRecovering
}

// begin restarts the verdict at t, and keeps the earlier verdicts.
func (l *ledger) begin(t time.Time) {
	_, changes := l.outages()
	for at, state := range changes {
		l.held[at] = state
		if state == SpanDown {
			l.downs = append(l.downs, at)
		}
	}
	l.seen, l.floor, l.told = nil, t, false
	l.held[t] = SpanUnknown
}

// gap ends an unobserved period at t.
func (l *ledger) gap(t time.Time) {
	if len(l.seen) == 0 {
		return
	}
	before := l.seen[len(l.seen)-1].at
	if t.Sub(before) > 2*time.Minute+10*time.Second {
		l.over = append(l.over, blank{before.Add(time.Minute), t, SpanUnknown})
	}
}

func (l *ledger) passes(now time.Time) {
	if l.paused && !l.until.IsZero() && !l.until.After(now) {
		l.resume(l.until)
	}
}

func (l *ledger) resume(t time.Time) {
	for i := range l.over {
		if l.over[i].to.IsZero() {
			l.over[i].to = t
		}
	}
	l.paused, l.until = false, time.Time{}
	l.begin(t)
}

func (l *ledger) pause(t, until time.Time) {
	if !l.paused {
		l.gap(t)
		l.over = append(l.over, blank{t, time.Time{}, SpanPaused})
		l.paused, l.told = true, false
		// The verdict stays as it was until it is made anew; the told does not.
	}
	l.until = until
}

func (l *ledger) check(at time.Time, outcome task.CheckOutcome) {
	if l.paused || !at.After(l.last) || at.Before(l.floor) {
		return
	}
	l.last, l.failed = at, outcome == task.CheckFail
	if outcome != task.CheckError {
		l.gap(at)
		l.seen = append(l.seen, sighting{at, outcome == task.CheckFail})
	}
}

func (l *ledger) maintenance(t time.Time) bool {
	return slices.ContainsFunc(l.windows, func(w ActiveWindow) bool { return !t.Before(w.From) && t.Before(w.To) })
}

// tell computes the notifications after an event at now.
func (l *ledger) tell(now time.Time) {
	switch v := l.verdict(); {
	case l.paused:
	case v == VerdictDown && l.failed && !l.told && !l.m.Muted && !l.maintenance(now):
		l.told, l.said = true, append(l.said, alert.NotificationDown)
	case (v == VerdictUp || v == VerdictConfirming) && l.told:
		l.told, l.said = false, append(l.said, alert.NotificationUp) // even if muted
	}
}

// at returns the expected state of the timeline at t.
func (l *ledger) at(t time.Time) SpanState {
	for _, want := range []SpanState{SpanPaused, SpanMaintenance, SpanUnknown} {
		if want == SpanMaintenance && l.maintenance(t) {
			return SpanMaintenance
		}
		if slices.ContainsFunc(l.over, func(b blank) bool { return b.state == want && b.has(t) }) {
			return want
		}
	}
	latest, state := time.Time{}, SpanUnknown
	for from, s := range l.held {
		if !from.After(t) && !from.Before(latest) {
			latest, state = from, s
		}
	}
	if !latest.After(l.floor) {
		_, changes := l.outages()
		for from, s := range changes {
			if !from.After(t) && !from.Before(latest) {
				latest, state = from, s
			}
		}
	}
	return state
}

func TestVerdictsAreThoseOfTheLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := at("10:00")
		m := Monitor{Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}, Flap: Flap{Off: true}, Slow: Slow{Off: true}, StaleAfter: 100}
		m.Confirm.Failures, m.Recover.Passes = rapid.IntRange(1, 3).Draw(t, "failures"), rapid.IntRange(1, 3).Draw(t, "passes")
		if rapid.Bool().Draw(t, "timed") {
			m.Confirm.For, m.Recover.For = core.Duration(90*time.Second), core.Duration(40*time.Second)
		}
		w := newWatch(t, m, start)
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			from := start.Add(time.Duration(rapid.IntRange(-100, 2500).Draw(t, "from")) * time.Second)
			w.windows = append(w.windows, ActiveWindow{Name: fmt.Sprintf("w%d", len(w.windows)), From: from, To: from.Add(time.Duration(rapid.IntRange(30, 600).Draw(t, "lasts")) * time.Second)})
		}
		l := &ledger{m: w.m, start: start, windows: w.windows, floor: start, held: map[time.Time]SpanState{start: SpanUnknown}}
		w.take(Enroll(w.m, w.env(), start))
		now := start
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 7, 20, 60, 60, 60, 120, 131, 300}).Draw(t, "wait")) * time.Second)
			for !w.wake.IsZero() && !w.wake.After(now) {
				// A live node is never late by a whole window.
				w.now = w.wake.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "late")) * time.Second)
				edge := slices.ContainsFunc(w.windows, func(a ActiveWindow) bool { return a.To.After(w.wake) && !a.To.After(w.now) })
				if w.now.After(now) || edge {
					w.now = w.wake
				}
				l.passes(w.now)
				w.lapse()
				l.tell(w.now)
			}
			w.now = now
			l.passes(now)
			playStep(t, w, l, now)
			l.tell(now)
			compare(t, w, l, now)
		}
		everySecond(t, w, l, now)
	})
}

func playStep(t *rapid.T, w *watch, l *ledger, now time.Time) {
	verb := rapid.SampledFrom([]string{"ok", "ok", "ok", "ok", "fail", "fail", "fail", "fail", "degraded", "error", "late", "pause", "resume", "retarget", "mute", "edit"}).Draw(t, "verb")
	switch verb {
	case "ok", "fail", "degraded", "error", "late":
		nominal := now.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "took")) * time.Second)
		outcome := task.CheckOutcome(verb)
		if verb == "late" {
			nominal, outcome = now.Add(-5*time.Minute), task.CheckFail
		}
		w.check(Observation{At: nominal, CheckResult: task.CheckResult{Outcome: outcome}})
		l.check(nominal, outcome)
	case "pause":
		var until time.Time
		if rapid.Bool().Draw(t, "timed pause") {
			until = now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "until")) * time.Second)
		}
		w.take(PauseMonitor(w.m, w.s, until, "ann", "", now))
		l.pause(now, until)
	case "resume":
		w.step("resume", "")
		if l.paused {
			l.resume(now)
		}
	case "retarget":
		w.step("retarget", "")
		if !l.paused {
			l.gap(now)
		}
		l.begin(now)
		l.last = time.Time{}
	case "mute":
		if w.m.Muted {
			verb = "unmute"
		}
		w.step(verb, "")
		l.m.Muted = w.m.Muted
	case "edit":
		w.step("edit", "")
	}
}

func compare(t *rapid.T, w *watch, l *ledger, now time.Time) {
	if !l.paused && w.s.Verdict != l.verdict() {
		t.Fatalf("%s: %s, and the ledger says %s", in(now), w.s.Verdict, l.verdict())
	}
	if (w.s.Status() == StatusPaused) != l.paused {
		t.Fatalf("%s: %s, and the ledger says paused %t", in(now), w.s.Status(), l.paused)
	}
	var said []alert.NotificationType
	for _, n := range w.told {
		if n.Type == alert.NotificationDown || n.Type == alert.NotificationUp {
			said = append(said, n.Type)
		}
	}
	if !slices.Equal(said, l.said) {
		t.Fatalf("%s: told %v, and the ledger %v", in(now), said, l.said)
	}
	open := 0
	for _, i := range w.incidents {
		if i.EndedBy == "" {
			open++
		}
	}
	held, changes := l.outages()
	downs := len(l.downs)
	for _, s := range changes {
		if s == SpanDown {
			downs++
		}
	}
	if len(w.incidents) != downs || (open == 1) != (held == SpanDown && !l.paused) || open > 1 {
		t.Fatalf("%s: %d incidents and %d open, and the ledger has %d and holds %s", in(now), len(w.incidents), open, downs, held)
	}
	for i, s := range w.line {
		if i > 0 && !s.From.After(w.line[i-1].From) {
			t.Fatalf("the timeline overlaps: %s", lineText(w.line))
		}
		if i > 0 && s.State == w.line[i-1].State && s.Cause == w.line[i-1].Cause {
			t.Fatalf("an entry that changes nothing: %s", lineText(w.line))
		}
	}
	if !w.line[0].From.Equal(l.start) {
		t.Fatalf("the timeline begins at %s", in(w.line[0].From))
	}
	u := UptimeOf(w.line, l.start, now, w.m.ObservedUntil(w.s))
	if u.Up+u.Down+u.Maintenance+u.Paused+u.Unknown != core.Duration(now.Sub(l.start)) {
		t.Fatalf("%s do not sum up to %s", uptimeText(u), now.Sub(l.start))
	}
	if n := len(w.s.Tail); n > tailMax {
		t.Fatalf("a tail of %d", n)
	}
}

// everySecond compares the whole timeline second by second.
func everySecond(t *rapid.T, w *watch, l *ledger, now time.Time) {
	for s := l.start; s.Before(now); s = s.Add(time.Second) {
		var got SpanState
		for _, span := range w.line {
			if !span.From.After(s) {
				got = span.State
			}
		}
		if want := l.at(s); got != want {
			t.Fatalf("%s: %s, and the ledger says %s\n%s", in(s), got, want, lineText(w.line))
		}
	}
}

// A quarter of a year of checks, one per minute, of a target that fails again and
// again, with weekly maintenance, pauses, failed checks and times without a node. The
// expected uptime follows from these times alone.
func TestAQuarterOfAYear(t *testing.T) {
	t.Parallel()
	const days = 91
	start := at("2026-01-01T00:00")
	end := start.Add(days * 24 * time.Hour)
	rng := rand.New(rand.NewPCG(5, 2026))
	seconds := func(from, to int) time.Duration { return time.Duration(from+rng.IntN(to-from)) * time.Second }
	w := newWatch(t, Monitor{Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}, Flap: Flap{Off: true}}, start)
	for from := start.Add(2 * time.Hour); from.Before(end); from = from.Add(7 * 24 * time.Hour) {
		w.windows = append(w.windows, ActiveWindow{Name: "weekly", From: from, To: from.Add(90 * time.Minute)})
	}
	type period struct {
		from, to time.Time
		what     string
	}
	var periods []period
	for t := start.Add(time.Hour); ; {
		t = t.Add(seconds(600, 8*3600))
		p := period{from: t, what: "outage"}
		switch rng.IntN(10) {
		case 0:
			p.what = "pause"
		case 1:
			p.what = "errors"
		case 2:
			p.what = "away"
		}
		length := seconds(1, 7200)
		if rng.IntN(2) == 0 {
			length = seconds(1, 120)
		}
		// All but outages keep clear of maintenance, so that what is lost is
		// plain to see.
		p.to = t.Add(length)
		if p.to.After(end.Add(-time.Hour)) {
			break
		}
		clear := slices.ContainsFunc(w.windows, func(a ActiveWindow) bool {
			return p.from.Before(a.To.Add(10*time.Minute)) && p.to.After(a.From.Add(-10*time.Minute))
		})
		if p.what != "outage" && clear {
			p.what = "outage"
		}
		periods = append(periods, p)
		t = p.to.Add(10 * time.Minute)
	}
	of := func(t time.Time) string {
		i, _ := slices.BinarySearchFunc(periods, t, func(p period, t time.Time) int {
			if !p.to.After(t) {
				return -1
			}
			return 1
		})
		if i < len(periods) && !t.Before(periods[i].from) {
			return periods[i].what
		}
		return ""
	}

	// The checks.
	w.take(Enroll(w.m, w.env(), start))
	lapseUntil := func(t time.Time) {
		for !w.wake.IsZero() && !w.wake.After(t) {
			w.now = w.wake
			for len(w.windows) > 0 && !w.windows[0].To.After(w.now) {
				w.windows = w.windows[1:]
			}
			w.take(Lapse(w.m, w.s, w.env(), w.now))
		}
	}
	windows := slices.Clone(w.windows)
	done, again := 0, time.Time{}
	for tick := start.Add(time.Minute); tick.Before(end); {
		next := tick
		if !again.IsZero() && again.Before(tick) {
			next = again
		}
		for done < len(periods) && !periods[done].to.After(next) {
			if p := periods[done]; p.what == "pause" {
				lapseUntil(p.from)
				w.now = p.from
				w.take(PauseMonitor(w.m, w.s, p.to, "ann", "", w.now))
			}
			done++
		}
		lapseUntil(next)
		w.now = next
		again = time.Time{}
		var outcome task.CheckOutcome
		switch of(next) {
		case "":
			outcome = task.CheckOK
		case "outage":
			outcome = task.CheckFail
		case "errors":
			outcome = task.CheckError
		}
		if outcome != "" {
			w.take(Judge(w.m, w.s, Observation{At: next, CheckResult: task.CheckResult{Outcome: outcome}}, w.env(), next))
			again = w.again
		}
		if next.Equal(tick) {
			tick = tick.Add(time.Minute)
		}
	}

	// The figure.
	minute := func(t time.Time) time.Time { // the first check at or after t
		if m := t.Truncate(time.Minute); m.Equal(t) {
			return m
		}
		return t.Truncate(time.Minute).Add(time.Minute)
	}
	within := func(from, to time.Time) (d time.Duration) {
		for _, a := range windows {
			d += max(0, min(to.Sub(start), a.To.Sub(start))-max(from.Sub(start), a.From.Sub(start)))
		}
		return d
	}
	var want Uptime
	want.Maintenance = core.Duration(within(start, end))
	want.Unknown = core.Duration(time.Minute) // until the first check
	notified, outages, blips := 0, 0, 0
	for _, p := range periods {
		first, back := minute(p.from), minute(p.to)
		switch p.what {
		case "outage":
			if !p.to.After(first.Add(20 * time.Second)) {
				blips++
				continue // not seen, or gone when it was looked at again
			}
			outages++
			want.Down += core.Duration(back.Sub(first) - within(first, back))
			if lasted := back.Sub(first); within(first, back) < lasted {
				notified++
			}
		case "pause":
			want.Paused += core.Duration(p.to.Sub(p.from))
			want.Unknown += core.Duration(back.Sub(p.to))
		default:
			if missed := back.Sub(first); missed >= 2*time.Minute {
				want.Unknown += core.Duration(missed)
			}
		}
	}
	want.Up = core.Duration(end.Sub(start)) - want.Down - want.Maintenance - want.Paused - want.Unknown
	got := UptimeOf(w.line, start, end, w.m.ObservedUntil(w.s))
	if got.Up != want.Up || got.Down != want.Down || got.Maintenance != want.Maintenance || got.Paused != want.Paused || got.Unknown != want.Unknown {
		want.Outages = outages
		t.Errorf("got  %s\nwant %s", uptimeText(got), uptimeText(want))
	}
	if len(w.incidents) != outages || blips == 0 {
		t.Errorf("%d incidents, want %d; %d blips", len(w.incidents), outages, blips)
	}
	var kinds []string
	for _, n := range w.told {
		if n.Type == alert.NotificationDown || n.Type == alert.NotificationUp {
			kinds = append(kinds, string(n.Type))
		}
	}
	if all := strings.Join(kinds, " "); len(kinds) != 2*notified || strings.Contains(all, "down down") || strings.Contains(all, "up up") {
		t.Errorf("%d notifications of %d outages that anybody could see: %s", len(kinds), notified, all)
	}
	t.Logf("%d outages and %d blips in %d days: %s", outages, blips, days, uptimeText(got))
}
