//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is a disturbance for a limited time.
type fault interface {
	Begin(c *chaos)
	Heal(c *chaos)
	String() string
}

// kind draws faults of one sort.
type kind struct {
	name string
	draw func(c *chaos, r *rand.Rand) fault
	// lasts is the permitted duration, shorter or longer than a session.
	lasts span
	// beside permits a second fault at the same time, healed in any order.
	beside bool
}

// span is a range of durations.
type span struct{ from, to time.Duration }

// Short faults heal before a session of a second is given up. Long faults heal after
// its end, the grace and a look of the engine. Some faults are either.
var (
	short  = span{200 * time.Millisecond, 2 * time.Second}
	long   = span{9 * time.Second, 11 * time.Second}
	either = span{500 * time.Millisecond, 11 * time.Second}
)

func (s span) draw(r *rand.Rand) time.Duration { return s.from + some(r, s.to-s.from) }

// kinds returns the kinds of faults that are possible here.
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

// event is the fault of one round and its duration.
type event struct {
	faults []fault
	lasts  time.Duration
}

func (e event) String() string {
	return fmt.Sprintf("%v for %s", e.faults, e.lasts.Round(time.Millisecond))
}

// plan draws the rounds: every kind in turn, in an order that follows from the seed,
// sometimes with a second fault at the same time.
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
