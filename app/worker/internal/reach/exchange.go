package reach

import (
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// stopwatch is a clock that stops while a check waits for its turn.
type stopwatch struct {
	start time.Time
	mu    sync.Mutex
	idle  time.Duration
}

// now returns the time since the start, without waits.
func (w *stopwatch) now() time.Duration {
	since := time.Since(w.start)
	w.mu.Lock()
	defer w.mu.Unlock()
	return since - w.idle
}

// wait runs a function that waits for a turn, with the clock stopped.
func (w *stopwatch) wait(until func() error) error {
	begun := time.Now()
	err := until()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle += time.Since(begun)
	return err
}

func (w *stopwatch) waited() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle
}

// Stage is a stage of an exchange.
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

// stageTexts describe the stages in timeouts.
var stageTexts = [...]string{
	StageTurn: "before the connection", StageDNS: "in the name's look-up", StageConnect: "while connecting", StageTLS: "in the TLS handshake",
	StageWrite: "while sending", StageWait: "waiting for the first byte", StageHeaders: "in the middle of the headers", StageBody: "in the middle of the body",
}

// Exchange is one exchange with a target over a connection: its stage, and the time
// of each stage. Goroutines of net/http call its hooks, also after the request
// has ended, so it has a lock and can be closed.
type Exchange struct {
	clock *stopwatch

	mu     sync.Mutex
	at     Stage
	since  time.Duration
	begun  time.Duration
	phases task.Phases
	addr   netip.Addr
	conn   *handshakeConn
	asked  bool // the server asked for a client certificate
	closed bool
}

// NewExchange begins an exchange.
func (c *Check) NewExchange() *Exchange {
	now := c.clock.now()
	x := &Exchange{clock: &c.clock, begun: now, since: now}
	c.exchanges = append(c.exchanges, x)
	return x
}

// Enter begins a stage and ends the previous one.
func (x *Exchange) Enter(next Stage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.enterLocked(next)
}

// Advance is Enter for a hook that may come late: it never goes back.
func (x *Exchange) Advance(next Stage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if next > x.at {
		x.enterLocked(next)
	}
}

func (x *Exchange) enterLocked(next Stage) {
	if x.closed {
		return
	}
	now := x.clock.now()
	took := core.Duration(max(now-x.since, 0))
	switch x.at {
	case StageDNS:
		x.phases.DNS += took
	case StageConnect:
		x.phases.Connect += took
	case StageTLS:
		x.phases.TLS += took
	case StageWrite, StageWait:
		x.phases.FirstByte += took
	case StageHeaders, StageBody:
		x.phases.Transfer += took
	}
	x.at, x.since = next, now
}

// At returns the stage of the exchange, or the stage at which it ended.
func (x *Exchange) At() Stage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.at
}

// Dials records the dialed address.
func (x *Exchange) Dials(addr netip.Addr) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.addr = addr
	}
}

func (x *Exchange) setConn(c *handshakeConn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conn = c
}

func (x *Exchange) wasAsked() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = true
}

func (x *Exchange) isAsked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asked
}

func (x *Exchange) current() *handshakeConn {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.conn
}

// End closes the exchange at its present stage. Later events, and another End, do
// not change its measurements.
func (x *Exchange) End() { x.measured() }

// measured ends the exchange, and returns the time of each stage and of the whole.
func (x *Exchange) measured() (p task.Phases, took time.Duration, ip string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.enterLocked(x.at)
	x.closed = true
	if x.addr.IsValid() {
		ip = x.addr.String()
	}
	return x.phases, x.since - x.begun, ip
}

// measure ends all exchanges of the check, and sets the result from their measurements.
// Each call computes it anew, so nothing counts twice.
func (c *Check) measure() {
	var sum task.Phases
	var whole time.Duration
	for _, x := range c.exchanges {
		p, took, ip := x.measured()
		sum.DNS, sum.Connect, sum.TLS = sum.DNS+p.DNS, sum.Connect+p.Connect, sum.TLS+p.TLS
		sum.FirstByte, sum.Transfer = sum.FirstByte+p.FirstByte, sum.Transfer+p.Transfer
		whole += took
		if ip != "" {
			c.Result.IP = ip
		}
	}
	if c.Mean > 0 {
		whole = c.Mean
	}
	c.Result.Phases, c.Result.Latency = sum, core.Duration(whole)
	c.Facts.Latency, c.Facts.Phases, c.Facts.IP = whole, sum, c.Result.IP
}
