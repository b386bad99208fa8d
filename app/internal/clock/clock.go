// Package clock tells the time of the clock that decides: the database's on PostgreSQL, the process's on SQLite. What is valid, due
// or past is told by it, because all nodes and all rows share it.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock is the deciding clock, as far as it was compared with that of this node. The zero value is the clock of this node.
type Clock struct{ skew atomic.Int64 }

// Set sets by how much the clock of this node is ahead of the deciding one.
func (c *Clock) Set(skew time.Duration) { c.skew.Store(int64(skew)) }

// Now returns the time of the deciding clock.
func (c *Clock) Now() time.Time { return time.Now().Add(-time.Duration(c.skew.Load())) }
