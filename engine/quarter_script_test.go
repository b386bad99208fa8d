package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// world is the truth of a quarter of a year: the state of each target at any instant,
// and the actions of people. The expected records follow from it. They are computed
// here without the code that records them.
type world struct {
	start, end time.Time
	rng        *rand.Rand
	targets    map[string]*target
	aways      []during // periods in which the node was stopped
	windows    []during // maintenance windows
	reports    []time.Time
}

// during is a period with its event.
type during struct {
	from, to time.Time
	what     string
}

func (d during) has(t time.Time) bool { return !t.Before(d.from) && t.Before(d.to) }

// near reports whether two periods are at most margin apart.
func (d during) near(from, to time.Time, margin time.Duration) bool {
	return from.Before(d.to.Add(margin)) && to.After(d.from.Add(-margin))
}

func within(list []during, t time.Time) (during, bool) {
	i, _ := slices.BinarySearchFunc(list, t, func(d during, t time.Time) int {
		if !d.to.After(t) {
			return -1
		}
		return 1
	})
	if i < len(list) && list[i].has(t) {
		return list[i], true
	}
	return during{}, false
}

func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rng.Int64N(int64(to-from)/int64(time.Millisecond)))*time.Millisecond
}

// target is the target of a monitor.
type target struct {
	*world
	name    string
	pace    time.Duration
	first   time.Time // first nominal time
	byRule  bool
	looked  func(after time.Time) time.Time // the actual time of a check, which the script does not set
	periods []during
	pauses  []during
}

// retry is the delay before a failed check is repeated: the default for intervals of
// a minute or more.
const retry = 20 * time.Second

// answer returns the check result at an instant.
func (t *target) answer(now time.Time) task.CheckResult {
	m := task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(70+now.Unix()/60%21) * core.Duration(time.Millisecond)}
	switch p, _ := within(t.periods, now); p.what {
	case "outage", "blip", "hidden":
		m.Outcome, m.Code, m.Message = task.CheckFail, task.CodeStatus, "got 503"
	case "errors":
		m.Outcome, m.Code, m.Message = task.CheckError, task.CodeNetwork, "no network"
	case "slow":
		m.Latency *= 10
	}
	return m
}

// turn returns the first nominal time at or after an instant.
func (t *target) turn(at time.Time) time.Time {
	if !at.After(t.first) {
		return t.first
	}
	return t.first.Add((at.Sub(t.first) + t.pace - 1) / t.pace * t.pace)
}

// live generates the script: events with quiet periods between them. Events other
// than outages stay apart from all others, so that their effect is known.
func (t *target) live() {
	p, w := t.pace, t.world
	for _, d := range t.pauses[:min(1, len(t.pauses))] { // an outage that a pause cuts off
		begin := t.turn(d.from.Add(-3 * p))
		t.periods = append(t.periods, during{begin.Add(-30 * time.Second), begin.Add(5 * p), "outage"})
	}
	fixed := slices.Clone(t.periods)
	defer func() { slices.SortFunc(t.periods, func(a, b during) int { return a.from.Compare(b.from) }) }()
	for now := w.start.Add(40 * p); ; {
		now = now.Add(w.between(6*p, 60*p))
		n := t.turn(now)
		d := during{n.Add(-w.between(0, p-time.Minute)), n, "outage"} // begins before the check at n
		last := n.Add(time.Duration(w.rng.IntN(12)) * p)
		switch w.rng.IntN(10) {
		case 0:
			d.what, d.to = "blip", n.Add(w.between(time.Second, 15*time.Second))
		case 1:
			d.what, d.from, d.to = "hidden", n.Add(time.Minute), n.Add(w.between(2*time.Minute, p-time.Second))
		case 2:
			d.what, d.to = "errors", last.Add(w.between(time.Minute, p))
		case 3:
			d.what, d.to = "slow", n.Add(8*p+w.between(time.Minute, p))
		default:
			d.to = last.Add(w.between(time.Minute, p))
		}
		now = d.to
		if now.After(w.end.Add(-12 * p)) {
			return
		}
		if !t.inTheWay(d, n) && !slices.ContainsFunc(fixed, func(f during) bool { return f.near(d.from, d.to, 6*p) }) {
			t.periods = append(t.periods, d)
		}
	}
}

func (t *target) inTheWay(d during, first time.Time) bool {
	for _, r := range t.reports {
		if d.near(r, r, 4*t.pace) {
			return true
		}
	}
	for _, list := range [][]during{t.aways, t.windows, t.pauses} {
		for _, other := range list {
			// This test excludes a start or end whose confirmation coincides with
			// another event, because then seconds would matter.
			edge := func(at time.Time) bool {
				return other.near(at, at, 3*time.Minute) && !(during{from: other.from.Add(3 * time.Minute), to: other.to.Add(-3 * time.Minute)}).has(at)
			}
			if edge(d.from) || edge(first) || edge(d.to) || edge(t.turn(d.to)) || d.what != "outage" && other.near(d.from, d.to, 6*t.pace) {
				return true
			}
		}
	}
	return false
}

// history is the expected record.
type history struct {
	held      []during // up or down
	gaps      []during
	incidents []outage
	told      []event
	looks     int
}

type outage struct {
	from, to time.Time
	by       string
}

type event struct {
	at   time.Time
	line string
}

// history computes the expected record of the target, check by check.
func (t *target) history() *history {
	h := &walk{target: t, history: &history{}, state: "unknown", since: t.start}
	stops := slices.Concat(t.aways, t.pauses)
	slices.SortFunc(stops, func(a, b during) int { return a.from.Compare(b.from) })
	h.soon(t.start)
	for n := t.first; n.Before(t.end); n = n.Add(t.pace) {
		if len(stops) > 0 && !n.Before(stops[0].from) {
			stop := stops[0]
			stops = stops[1:]
			if stop.what == "pause" {
				h.pause(stop)
				h.soon(stop.to)
			} else if n.Before(stop.to) {
				h.look(stop.to) // one check catches up the missed ones
			}
			n = t.turn(stop.to).Add(-t.pace)
			continue
		}
		h.look(n)
	}
	h.hold(t.end, "")
	return h.history
}

// walk is the computation of a history.
type walk struct {
	*target
	*history
	state      string
	since      time.Time
	gap, until time.Time // of the last check
	errors     int
	slow       bool
	run        int // checks with the other latency
}

func (h *walk) hold(at time.Time, state string) {
	if h.since.Before(at) {
		h.held = append(h.held, during{h.since, at, h.state})
	}
	h.state, h.since = state, at
}

// soon adds the extra check of a monitor without a verdict whose next nominal time
// is far off.
func (h *walk) soon(from time.Time) {
	if h.turn(from).Sub(from) > time.Minute {
		h.look(h.looked(from))
	}
}

// seen records a check with a result. It covers one missing check; after two the
// state is unknown.
func (h *walk) seen(now time.Time) {
	if !h.until.IsZero() && now.After(h.until) {
		h.gaps = append(h.gaps, during{h.gap, now, "unknown"})
	}
	h.gap, h.until = now.Add(h.pace), now.Add(2*h.pace+task.DefaultCheckTimeout.D())
	if h.byRule {
		h.gap = h.turn(now.Add(1))
		h.until = h.gap.Add(h.pace + task.DefaultCheckTimeout.D())
	}
}

func (h *walk) look(now time.Time) {
	h.looks++
	m := h.answer(now)
	if m.Outcome == task.CheckError {
		if h.errors++; h.errors == 3 {
			h.tell(now, "stale")
		}
		return
	}
	h.seen(now)
	if h.errors >= 3 {
		h.tell(now, "fresh")
	}
	h.errors = 0
	confirm := now.Add(m.Latency.D() + retry)
	again := h.answer(confirm)
	switch {
	case m.Outcome == task.CheckFail && h.state == "down":
	case m.Outcome == task.CheckFail && again.Outcome == task.CheckFail:
		h.again(confirm)
		h.hold(now, "down")
		h.incidents = append(h.incidents, outage{from: now})
		delivered := confirm
		if w, under := within(h.windows, confirm); under {
			delivered = w.to
		}
		h.tell(delivered, "down "+stampOf(now))
	case m.Outcome == task.CheckFail: // a blip
		h.again(confirm)
		h.latency(confirm, again)
	case h.state == "down":
		h.again(confirm)
		h.hold(now, "up")
		h.end(now, "recovered", confirm)
		h.latency(now, m)
		h.latency(confirm, again)
	default:
		if h.state == "unknown" {
			h.hold(now, "up")
		}
		h.latency(now, m)
	}
}

// again adds an extra check to confirm a result.
func (h *walk) again(at time.Time) {
	h.looks++
	h.seen(at)
}

// end closes the open incident. An incident that ends before its notification is not
// notified.
func (h *history) end(now time.Time, by string, delivered time.Time) {
	last := &h.incidents[len(h.incidents)-1]
	last.to, last.by = now, by
	i := len(h.told) - 1
	for h.told[i].line != "down "+stampOf(last.from) {
		i--
	}
	switch {
	case !h.told[i].at.Before(now):
		h.told = slices.Delete(h.told, i, i+1)
	case by == "recovered":
		h.tell(delivered, "up "+stampOf(now))
	default: // a pager would ring on
		h.tell(delivered, "closed")
	}
}

func (h *walk) pause(p during) {
	if !h.until.IsZero() && p.from.After(h.until) {
		h.gaps = append(h.gaps, during{h.gap, p.from, "unknown"})
	}
	if h.state == "down" {
		h.end(p.from, "paused", p.from)
	}
	for _, told := range []bool{h.errors >= 3, h.slow} {
		if told {
			h.tell(p.from, "closed")
		}
	}
	h.hold(p.to, "unknown")
	h.until, h.errors, h.slow, h.run = time.Time{}, 0, false, 0
}

// latency counts five slow checks in a row, and five quick ones.
func (h *walk) latency(now time.Time, m task.CheckResult) {
	isSlow := m.Latency.D() > 500*time.Millisecond
	if isSlow == h.slow {
		h.run = 0
		return
	}
	if h.run++; h.run == 5 {
		h.slow, h.run = isSlow, 0
		h.tell(now, map[bool]string{true: "slow", false: "normal"}[isSlow])
	}
}

func (h *history) tell(at time.Time, line string) { h.told = append(h.told, event{at, line}) }

// lines returns the expected notifications, in order.
func (h *history) lines() (out []string) {
	slices.SortStableFunc(h.told, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range h.told {
		out = append(out, e.line)
	}
	return out
}

// uptime computes the expected uptime of a span. A pause covers maintenance, which
// covers unobserved time, which covers the verdict.
func (w *world) uptime(h *history, pauses []during, from, to time.Time) (u monitor.Uptime) {
	layers := [][]during{pauses, w.windows, h.gaps, h.held}
	edges := []time.Time{from, to}
	for _, layer := range layers {
		for _, d := range layer {
			for _, e := range []time.Time{d.from, d.to} {
				if e.After(from) && e.Before(to) {
					edges = append(edges, e)
				}
			}
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	down := false // two outages with only maintenance between them count as one
	for i := range len(edges) - 1 {
		length := core.Duration(edges[i+1].Sub(edges[i]))
		state := "unknown"
		for _, layer := range layers {
			if d, is := within(layer, edges[i]); is {
				state = d.what
				break
			}
		}
		switch state {
		case "up":
			u.Up += length
			down = false
		case "down":
			u.Down += length
			if !down {
				u.Outages++
			}
			down = true
		case "pause":
			u.Paused += length
			down = false
		case "window":
			u.Maintenance += length
		default:
			u.Unknown += length
		}
	}
	u.Coverage = float64(u.Up+u.Down+u.Maintenance) / float64(to.Sub(from))
	return u
}

func uptimeLine(u monitor.Uptime) string {
	return fmt.Sprintf("up %s, down %s, maintenance %s, paused %s, unknown %s, coverage %.6f, %d outages", u.Up, u.Down, u.Maintenance, u.Paused, u.Unknown, u.Coverage, u.Outages)
}
