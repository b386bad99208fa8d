package brokertest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// gate is a way to a server that can be shut.
type gate struct {
	to      string
	address string

	mu    sync.Mutex
	ln    net.Listener
	conns map[net.Conn]bool
	loops sync.WaitGroup
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	g := &gate{to: to, address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	g.open(t)
	t.Cleanup(g.shut)
	return g
}

// open lets clients through, at the same address as before.
func (g *gate) open(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("tcp", g.address)
	must(t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ln, g.address = ln, ln.Addr().String()
	g.loops.Go(func() { g.accept(ln) })
}

// shut breaks all connections and refuses new ones.
func (g *gate) shut() {
	g.mu.Lock()
	_ = g.ln.Close()
	for c := range g.conns {
		_ = c.Close()
	}
	g.mu.Unlock()
	g.loops.Wait()
}

func (g *gate) accept(ln net.Listener) {
	for {
		in, err := ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		g.mu.Lock()
		g.conns[in], g.conns[out] = true, true
		g.mu.Unlock()
		g.loops.Go(func() { g.carry(in, out) })
		g.loops.Go(func() { g.carry(out, in) })
	}
}

func (g *gate) carry(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	g.mu.Lock()
	delete(g.conns, from)
	g.mu.Unlock()
}
