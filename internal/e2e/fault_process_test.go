//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// kill sends kill -9 to some nodes, and sometimes once more in the middle of their
// start. They are started again when the fault is healed.
type kill struct {
	victims []*place
	again   time.Duration // 0: no second kill
}

func drawKill(c *chaos, r *rand.Rand) fault {
	f := &kill{victims: c.drawPlaces(r)}
	if r.IntN(3) == 0 {
		f.again = 1 + some(r, 150*time.Millisecond)
	}
	return f
}

func (f *kill) Begin(c *chaos) {
	for _, n := range f.victims {
		c.kill(n)
	}
	if f.again == 0 {
		return
	}
	for _, n := range f.victims {
		c.launch(n)
	}
	<-time.After(f.again)
	for _, n := range f.victims {
		c.kill(n)
	}
}

func (f *kill) Heal(*chaos) {}

func (f *kill) String() string {
	if f.again > 0 {
		return fmt.Sprintf("kill -9 of %v, and again %s into their start", f.victims, f.again)
	}
	return fmt.Sprintf("kill -9 of %v", f.victims)
}

// stop sends SIGSTOP and SIGCONT. The commands of the node run on until its session is over.
type stop struct {
	victims []*place
	frozen  []*process
}

func drawStop(c *chaos, r *rand.Rand) fault { return &stop{victims: c.drawPlaces(r)} }

func (f *stop) Begin(c *chaos) {
	for _, n := range f.victims {
		if !n.running() {
			continue
		}
		c.mark(markFreeze, n.name)
		n.signal(syscall.SIGSTOP)
		f.frozen = append(f.frozen, n.process)
	}
	// The store releases jobs only after the end of their session, which is at most
	// a session's length away, and the grace.
	for _, p := range f.frozen {
		c.later(sessionTTL, func() { c.mark(markLapse, p.name) })
	}
}

func (f *stop) Heal(c *chaos) {
	for _, p := range f.frozen {
		if p.running() {
			p.signal(syscall.SIGCONT)
			c.mark(markThaw, p.name)
		}
	}
}

func (f *stop) String() string { return fmt.Sprintf("SIGSTOP of %v", f.victims) }
