package reach

import "time"

// clock is the time of a server, and the instant at which this machine heard of it.
type clock struct{ told, at time.Time }

// Follow tells the time by the clock that decides. What checks say of certificates and registrations is by it: the clock of
// the worker's machine may be wrong, and would call a target down whose certificate is new.
func (n *Net) Follow(now time.Time) { n.server.Store(&clock{told: now, at: time.Now()}) }

// Now returns the time by the clock that decides, or by this machine's before it was told of any.
func (n *Net) Now() time.Time {
	if c := n.server.Load(); c != nil {
		return c.told.Add(time.Since(c.at))
	}
	return time.Now()
}

// Now returns the time by the clock that decides.
func (c *Check) Now() time.Time { return c.net.Now() }
