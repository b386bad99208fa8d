//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is something that goes wrong for a while.
type fault interface {
	Begin(c *chaos)
	Heal(c *chaos)
	String() string
}

// kind draws faults of one sort.
type kind struct {
	name string
	draw func(c *chaos, r *rand.Rand) fault
	// lasts is how long it may go on, past a session's end or not.
	lasts span
	// beside may go wrong while something else does, and be healed in any order.
	beside bool
}

// span is from when to when.
type span struct{ from, to time.Duration }

// Short faults heal before a session of a second has been given up; long ones
// after its end, the grace for late signs and a look of the engine. Some are
// either.
var (
	short  = span{200 * time.Millisecond, 2 * time.Second}
	long   = span{9 * time.Second, 11 * time.Second}
	either = span{500 * time.Millisecond, 11 * time.Second}
)

func (s span) draw(r *rand.Rand) time.Duration { return s.from + some(r, s.to-s.from) }

// kinds are what may go wrong here.
func (c *chaos) kinds() []kind {
	list := []kind{
		{"kill", drawKill, short, true},
		{"stop", drawStop, long, true},
		{"snapshot", drawSnapshot, either, true},
		{"full disk", drawFullDisk, either, false},
		{"clock", drawClock, short, false},
	}
	if c.site.postgres() {
		list = append(list,
			kind{"database", drawOutage, either, false},
			kind{"backends", drawBackends, short, true},
			kind{"cut", drawCut, either, false},
			kind{"delay", drawDelay, either, true},
			kind{"half open", drawHalfOpen, either, false},
			kind{"pool", drawHogs, either, false},
		)
	}
	return slices.DeleteFunc(list, func(k kind) bool { return c.without[k.name] != "" })
}

// event is what goes wrong in one round, and for how long.
type event struct {
	faults []fault
	lasts  time.Duration
}

func (e event) String() string {
	return fmt.Sprintf("%v for %s", e.faults, e.lasts.Round(time.Millisecond))
}

// plan draws the rounds: every kind in turn, in an order that follows from the
// seed, and now and then a second one beside it.
func (c *chaos) plan(rounds int) (list []event) {
	all := c.kinds()
	var deck []kind
	for range rounds {
		if len(deck) == 0 {
			deck = slices.Clone(all)
			c.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		k := deck[0]
		deck = deck[1:]
		e := event{[]fault{k.draw(c, c.random)}, k.lasts.draw(c.random)}
		if second := all[c.random.IntN(len(all))]; second.beside && second.name != k.name {
			e.faults = append(e.faults, second.draw(c, c.random))
			e.lasts = max(e.lasts, second.lasts.draw(c.random))
		}
		list = append(list, e)
	}
	return list
}
