package workflows

import (
	"sync"
	"time"

	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/store/base"
)

// restFrom is the cost from which a transaction makes expressions rest. Below it no other writer is held up noticeably.
const restFrom = expression.Limit / 10

// effort is the work of the expressions of a transaction.
type effort struct {
	used   float64       // as a fraction of the limit of one scope
	cost   time.Duration // of the processor
	rested time.Duration // the part of the cost that has its rest
	looked bool
	rests  bool // evaluates nothing, because expressions have just worked
}

func (c *Change) effort() *effort {
	e := base.Kept[effort](c.Change)
	if !e.looked {
		e.looked, e.rests = true, c.s.rest.left() > 0
	}
	return e
}

// takeTurn lets a pass of the engine evaluate expressions. It rests between its passes.
func (c *Change) takeTurn() { c.effort().rests = false }

func (c *Change) addEffort(s *expression.Scope) {
	e := c.effort()
	e.used += s.Work()
	if e.cost += s.Cost(); e.cost >= restFrom {
		c.s.rest.extend(e.cost - e.rested)
		e.rested = e.cost
	}
}

// overLimit reports that the expressions of this transaction have used up their common limit, or rest. What is left continues in
// a later pass of the engine, because SQLite has no other writer meanwhile.
func (c *Change) overLimit() bool { e := c.effort(); return e.rests || e.used >= 1 }

// rest is the time in which a process evaluates no expressions. It is as long as the work before it, so that runs with heavy
// expressions leave half of the time to all other writers.
type rest struct {
	mu    sync.Mutex
	until time.Time
}

func (r *rest) extend(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.until.Before(now) {
		r.until = now
	}
	r.until = r.until.Add(by)
}

func (r *rest) left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, time.Until(r.until))
}
