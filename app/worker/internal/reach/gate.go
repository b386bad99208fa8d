package reach

import (
	"context"
	"net"
	"sync"

	"github.com/belfry-run/belfry/task"
)

// gate lets so many through at once.
type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	default:
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) leave() { <-g }

// Turn waits until the check may go to a host. The time is not the target's. The
// turn is given back by leave, and at the latest when the context ends: a check
// that does not come to its end then holds up no other.
func (l *Look) Turn(ctx context.Context, name string) (leave func(), f *Fault) {
	err := l.watch.wait(func() (err error) {
		leave, err = l.net.hosts.enter(ctx, name, l.net.hosts.wasLate(l.Task))
		return err
	})
	if err != nil {
		return nil, Ours(task.CodeLate, "the check waited its whole timeout for its turn: %d others look at %s", l.net.hosts.limit, name)
	}
	once := sync.OnceFunc(leave)
	stop := context.AfterFunc(ctx, once)
	return func() { stop(); once() }, nil
}

// line is a connection whose TLS handshake passes the gate. The gate is for
// computing: a handshake that waits for the other side stands
// outside of it, or a few servers that stall would keep all others waiting.
type line struct {
	net.Conn
	ctx   context.Context // of the handshake
	gate  gate
	watch *watch

	mu      sync.Mutex
	shaking bool
	inside  bool
	unbind  func() bool // from the end of ctx
}

// shake begins a handshake, which ends with the context.
func (l *line) shake(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.shaking = ctx, true
	l.unbind = context.AfterFunc(ctx, func() { _ = l.SetDeadline(Past) })
	l.enterLocked()
}

// shaken ends it.
func (l *line) shaken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked()
	if l.unbind != nil {
		l.unbind()
	}
	l.shaking, l.ctx, l.watch, l.unbind = false, nil, nil, nil // a kept connection holds on to nothing
}

// enterLocked goes on without a place when the context ends: the handshake will
// see that it has ended too.
func (l *line) enterLocked() {
	_ = l.watch.wait(func() error {
		err := l.gate.enter(l.ctx)
		l.inside = err == nil
		return err
	})
}

func (l *line) leaveLocked() {
	if l.inside {
		l.gate.leave()
		l.inside = false
	}
}

func (l *line) Read(p []byte) (int, error) {
	l.mu.Lock()
	if !l.shaking {
		l.mu.Unlock()
		return l.Conn.Read(p)
	}
	l.leaveLocked()
	l.mu.Unlock()
	n, err := l.Conn.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shaking && err == nil {
		l.enterLocked()
	}
	return n, err
}
