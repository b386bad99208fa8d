package page

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// trip is the time of one request, by its stages. The hooks of a request can
// run at once and after its end, so it has a lock and an end.
type trip struct {
	mu    sync.Mutex
	begun time.Time
	since time.Time // of the stage
	stage stage
	spent [receiving + 1]time.Duration
	ip    string
	ended bool
}

func newTrip() *trip {
	now := time.Now()
	return &trip{begun: now, since: now}
}

// enter ends the stage before. Several addresses may be dialed in turn: what
// comes again adds up.
func (t *trip) enter(next stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || next == t.stage {
		return
	}
	now := time.Now()
	t.spent[t.stage] += now.Sub(t.since)
	t.stage, t.since = next, now
}

func (t *trip) at() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stage
}

func (t *trip) dials(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if host, _, err := net.SplitHostPort(address); err == nil && !t.ended {
		t.ip = host
	}
}

func (t *trip) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { t.enter(resolving) },
		ConnectStart:         func(_, address string) { t.enter(connecting); t.dials(address) },
		TLSHandshakeStart:    func() { t.enter(shaking) },
		TLSHandshakeDone:     func(_ tls.ConnectionState, err error) { t.shaken(err) },
		GotConn:              func(i httptrace.GotConnInfo) { t.enter(writing); t.dials(i.Conn.RemoteAddr().String()) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.enter(waiting) },
		GotFirstResponseByte: func() { t.enter(receiving) },
	})
}

// shaken keeps the stage when the handshake failed: the error is about it.
func (t *trip) shaken(err error) {
	if err == nil {
		t.enter(writing)
	}
}

func (t *trip) end() (p belfry.Phases, took time.Duration, ip string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !t.ended {
		t.spent[t.stage] += now.Sub(t.since)
		t.ended = true
	}
	return belfry.Phases{
		DNS: belfry.Duration(t.spent[resolving]), Connect: belfry.Duration(t.spent[connecting]), TLS: belfry.Duration(t.spent[shaking]),
		FirstByte: belfry.Duration(t.spent[waiting]), Transfer: belfry.Duration(t.spent[receiving]),
	}, now.Sub(t.begun), t.ip
}
