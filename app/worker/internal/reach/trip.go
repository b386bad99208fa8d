package reach

import (
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// watch is a clock that stands still while a check waits for its turn.
type watch struct {
	start time.Time
	mu    sync.Mutex
	idle  time.Duration
}

// now is the time since the start, without the waits.
func (w *watch) now() time.Duration {
	since := time.Since(w.start)
	w.mu.Lock()
	defer w.mu.Unlock()
	return since - w.idle
}

// wait runs what waits for our own turn.
func (w *watch) wait(until func() error) error {
	begun := time.Now()
	err := until()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle += time.Since(begun)
	return err
}

func (w *watch) waited() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle
}

// Stage is what a trip is at.
type Stage int

// The stages, in the order of a request.
const (
	StageTurn Stage = iota // waiting for its turn, or between two stages
	StageDNS
	StageConnect
	StageTLS
	StageWrite
	StageWait    // for the first byte
	StageHeaders // the answer has begun
	StageBody
)

// words say which stage stalled.
var words = [...]string{
	StageTurn: "before the connection", StageDNS: "in the name's look-up", StageConnect: "while connecting", StageTLS: "in the TLS handshake",
	StageWrite: "while sending", StageWait: "waiting for the first byte", StageHeaders: "in the middle of the headers", StageBody: "in the middle of the body",
}

// Trip is one connection to a target and back: where it is, and how long each
// stage took. Its hooks are called by goroutines of net/http, also after the
// request has ended, and so it is guarded and can be closed.
type Trip struct {
	watch *watch

	mu     sync.Mutex
	at     Stage
	since  time.Duration
	begun  time.Duration
	phases task.Phases
	addr   netip.Addr
	line   *line
	asked  bool // for a certificate of ours
	closed bool
}

// Trip begins a trip.
func (l *Look) Trip() *Trip {
	now := l.watch.now()
	t := &Trip{watch: &l.watch, begun: now, since: now}
	l.trips = append(l.trips, t)
	return t
}

// Enter begins a stage and so ends the one before.
func (t *Trip) Enter(next Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enterLocked(next)
}

// Advance is Enter for a hook that may come late: it never goes back.
func (t *Trip) Advance(next Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next > t.at {
		t.enterLocked(next)
	}
}

func (t *Trip) enterLocked(next Stage) {
	if t.closed {
		return
	}
	now := t.watch.now()
	took := core.Duration(max(now-t.since, 0))
	switch t.at {
	case StageDNS:
		t.phases.DNS += took
	case StageConnect:
		t.phases.Connect += took
	case StageTLS:
		t.phases.TLS += took
	case StageWrite, StageWait:
		t.phases.FirstByte += took
	case StageHeaders, StageBody:
		t.phases.Transfer += took
	}
	t.at, t.since = next, now
}

// At is where the trip is, or where it ended.
func (t *Trip) At() Stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// Dials notes the address that is tried.
func (t *Trip) Dials(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.addr = addr
	}
}

func (t *Trip) uses(l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = l
}

func (t *Trip) wasAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
}

func (t *Trip) isAsked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

func (t *Trip) current() *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}

// End closes the trip at the stage where it is. Later events, and another
// End, change nothing of what it measured.
func (t *Trip) End() { t.measured() }

// measured ends the trip and says how long each stage and the whole took.
func (t *Trip) measured() (p task.Phases, took time.Duration, ip string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enterLocked(t.at)
	t.closed = true
	if t.addr.IsValid() {
		ip = t.addr.String()
	}
	return t.phases, t.since - t.begun, ip
}

// tally ends all trips of the look and makes the result what they measured:
// it is computed anew from the trips each time, so nothing counts twice.
func (l *Look) tally() {
	var sum task.Phases
	var whole time.Duration
	for _, t := range l.trips {
		p, took, ip := t.measured()
		sum.DNS, sum.Connect, sum.TLS = sum.DNS+p.DNS, sum.Connect+p.Connect, sum.TLS+p.TLS
		sum.FirstByte, sum.Transfer = sum.FirstByte+p.FirstByte, sum.Transfer+p.Transfer
		whole += took
		if ip != "" {
			l.Result.IP = ip
		}
	}
	if l.Mean > 0 {
		whole = l.Mean
	}
	l.Result.Phases, l.Result.Latency = sum, core.Duration(whole)
	l.Facts.Latency, l.Facts.Phases, l.Facts.IP = whole, sum, l.Result.IP
}
