package probe

import (
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
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

// stage is what a trip is at.
type stage int

const (
	stageTurn stage = iota // waiting for its turn, or between two stages
	stageDNS
	stageConnect
	stageTLS
	stageWrite
	stageWait    // for the first byte
	stageHeaders // the answer has begun
	stageBody
)

// words say which stage stalled.
var words = [...]string{
	stageTurn: "before the connection", stageDNS: "in the name's look-up", stageConnect: "while connecting", stageTLS: "in the TLS handshake",
	stageWrite: "while sending", stageWait: "waiting for the first byte", stageHeaders: "in the middle of the headers", stageBody: "in the middle of the body",
}

// trip is one connection to a target and back: where it is, and how long each
// stage took. Its hooks are called by goroutines of net/http, also after the
// request has ended, and so it is guarded and can be closed.
type trip struct {
	watch *watch

	mu     sync.Mutex
	at     stage
	since  time.Duration
	begun  time.Duration
	phases belfry.Phases
	addr   netip.Addr
	line   *line
	asked  bool // for a certificate of ours
	closed bool
}

func newTrip(w *watch) *trip {
	now := w.now()
	return &trip{watch: w, begun: now, since: now}
}

// enter begins a stage and so ends the one before.
func (t *trip) enter(next stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enterLocked(next)
}

// advance is enter for a hook that may come late: it never goes back.
func (t *trip) advance(next stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next > t.at {
		t.enterLocked(next)
	}
}

func (t *trip) enterLocked(next stage) {
	if t.closed {
		return
	}
	now := t.watch.now()
	took := belfry.Duration(max(now-t.since, 0))
	switch t.at {
	case stageDNS:
		t.phases.DNS += took
	case stageConnect:
		t.phases.Connect += took
	case stageTLS:
		t.phases.TLS += took
	case stageWrite:
		if next >= stageHeaders { // nobody said that all was sent before the answer came
			t.phases.FirstByte += took
		}
	case stageWait:
		t.phases.FirstByte += took
	case stageHeaders, stageBody:
		t.phases.Transfer += took
	}
	t.at, t.since = next, now
}

// stage is where the trip is, or where it ended.
func (t *trip) stage() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

func (t *trip) dials(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.addr = addr
	}
}

func (t *trip) uses(l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = l
}

func (t *trip) wasAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
}

func (t *trip) isAsked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

func (t *trip) current() *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}

// end closes the trip at the stage where it is. It may be called again.
func (t *trip) end() (p belfry.Phases, took time.Duration, ip string, at stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.at
	t.enterLocked(last)
	t.closed = true
	if t.addr.IsValid() {
		ip = t.addr.String()
	}
	return t.phases, t.since - t.begun, ip, last
}

// arrive adds a trip that has ended to the measure.
func (l *look) arrive(t *trip) {
	p, took, ip, _ := t.end()
	sum := &l.m.Phases
	sum.DNS, sum.Connect, sum.TLS = sum.DNS+p.DNS, sum.Connect+p.Connect, sum.TLS+p.TLS
	sum.FirstByte, sum.Transfer = sum.FirstByte+p.FirstByte, sum.Transfer+p.Transfer
	l.m.Latency += belfry.Duration(took)
	if ip != "" {
		l.m.IP = ip
	}
	l.facts.Latency, l.facts.Phases, l.facts.IP = l.m.Latency.D(), l.m.Phases, l.m.IP
}
