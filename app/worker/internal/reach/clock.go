package reach

import "time"

// Follow tells the time by the clock that decides. What checks say of certificates and registrations is by it: the clock of
// the worker's machine may be wrong, and would call a target down whose certificate is new.
func (n *Net) Follow(now time.Time) { n.clock.Set(time.Since(now)) }

// Now returns the time by the clock that decides, or by this machine's before it was told of any.
func (n *Net) Now() time.Time { return n.clock.Now() }

// Now returns the time by the clock that decides.
func (c *Check) Now() time.Time { return c.net.Now() }
