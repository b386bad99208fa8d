package reach

import (
	"context"
	"net"
	"sync"

	"github.com/belfry-run/belfry/task"
)

// semaphore is a semaphore.
type semaphore chan struct{}

func (s semaphore) enter(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) leave() { <-s }

// WaitTurn waits until the check may contact a host. The wait does not count as
// latency. leave ends the turn, or the end of the context, so that a check that
// hangs does not block others.
func (c *Check) WaitTurn(ctx context.Context, name string) (leave func(), f *Fault) {
	err := c.clock.wait(func() (err error) {
		leave, err = c.net.hosts.enter(ctx, name, c.net.hosts.wasLate(c.Task))
		return err
	})
	if err != nil {
		return nil, Ours(task.CodeLate, "the check waited its whole timeout for its turn: %d others look at %s", c.net.hosts.limit, name)
	}
	once := sync.OnceFunc(leave)
	stop := context.AfterFunc(ctx, once)
	return func() { stop(); once() }, nil
}

// handshakeConn is a connection whose TLS handshake takes a slot of the
// semaphore. The slots limit computing: a handshake that waits for the other
// side gives its slot back, or a few
// stalled servers would block all others.
type handshakeConn struct {
	net.Conn
	ctx   context.Context // of the handshake
	slots semaphore
	clock *stopwatch

	mu          sync.Mutex
	inHandshake bool
	hasSlot     bool
	unbind      func() bool // from the end of ctx
}

// beginHandshake begins a handshake, which ends with the context.
func (c *handshakeConn) beginHandshake(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.inHandshake = ctx, true
	c.unbind = context.AfterFunc(ctx, func() { _ = c.SetDeadline(Past) })
	c.enterLocked()
}

// endHandshake ends the handshake.
func (c *handshakeConn) endHandshake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked()
	if c.unbind != nil {
		c.unbind()
	}
	c.inHandshake, c.ctx, c.clock, c.unbind = false, nil, nil, nil // a kept connection must not hold references
}

// enterLocked takes a slot. If the context ends first, it goes on without a
// slot: the handshake also sees the end of the context.
func (c *handshakeConn) enterLocked() {
	_ = c.clock.wait(func() error {
		err := c.slots.enter(c.ctx)
		c.hasSlot = err == nil
		return err
	})
}

func (c *handshakeConn) leaveLocked() {
	if c.hasSlot {
		c.slots.leave()
		c.hasSlot = false
	}
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if !c.inHandshake {
		c.mu.Unlock()
		return c.Conn.Read(p)
	}
	c.leaveLocked()
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inHandshake && err == nil {
		c.enterLocked()
	}
	return n, err
}
