// Package check is a model checker. It explores every reachable state of a small
// specification and reports a violated promise with the shortest trace to it.
//
// A specification is a comparable state, a function that lists the steps out of a
// state, and three kinds of promises: invariants of states, invariants of steps,
// and events that stay possible from every state. The exploration is breadth first
// and keeps the whole graph, so that tests can walk it.
package check

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Step is one transition out of a state: the act and the next state.
type Step[S, A comparable] struct {
	Act A
	To  S
	// Own means that the system takes this step by itself, sooner or later.
	// Actions of people and failures are not its own steps; promises of progress
	// must not depend on them.
	Own bool
}

// Spec is a specification.
type Spec[S, A comparable] struct {
	Init []S
	// Next appends the steps out of a state and returns the longer slice.
	Next func(s S, steps []Step[S, A]) []Step[S, A]
	// Always are invariants of every reachable state.
	Always []Always[S]
	// Each are invariants of every possible step.
	Each []Each[S, A]
	// Can are the promises of progress by the system itself.
	Can []Can[S, A]
	// Show describes a state, with one line for each part. Traces show the lines
	// that a step has changed.
	Show func(s S) []string
	// Bound is the most states. More are an error, not a violation. Default: two
	// million.
	Bound int
}

// Always is an invariant of states. Holds returns an error if a state violates it.
type Always[S comparable] struct {
	Name  string
	Holds func(s S) error
}

// Each is an invariant of steps.
type Each[S, A comparable] struct {
	Name  string
	Holds func(from S, act A, to S) error
}

// Can is a promise of progress: from every state in which From holds (nil: every
// state), the system's own steps can lead to a Good state or a Goal step. If it is
// violated, the system is in a loop without progress, or stands still.
type Can[S, A comparable] struct {
	Name string
	From func(s S) bool
	Good func(s S) bool
	Goal func(from S, act A, to S) bool
}

// Violation is a violated promise with the shortest trace to it.
type Violation struct {
	Name  string
	Err   error
	Trace []string // the first state, then for each step the act and its changes
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: %v\n%s", v.Name, v.Err, strings.Join(v.Trace, "\n"))
}

// Graph is the explored state graph. The first states are the initial ones. Edges
// are in the order of the states that they leave.
type Graph[S, A comparable] struct {
	States []S
	Acts   []A // by [Edge.Act]
	Edges  []Edge
	first  []int32 // by state: index of its first edge; with one more element for the end
	parent []int32 // by state: the edge that found it, or -1
	from   []int32 // by state: the state from which it was found
}

// Edge is a step in a graph.
type Edge struct {
	To  int32
	Act uint16
	Own bool
}

// Out returns the range of the edges out of a state in Edges.
func (g *Graph[S, A]) Out(state int32) (begin, end int32) { return g.first[state], g.first[state+1] }

// defaultBound keeps an infinite specification from using all memory.
const defaultBound = 2_000_000

// Explore visits every state and checks every promise. The graph is complete unless
// there is an error. The error is a [*Violation] if a promise is violated.
func Explore[S, A comparable](spec Spec[S, A]) (*Graph[S, A], error) {
	if spec.Bound == 0 {
		spec.Bound = defaultBound
	}
	g := &Graph[S, A]{}
	seen, acts := newIndex(g), map[A]uint16{}
	visit := func(s S, from, edge int32) (int32, error) {
		id, known := seen.find(&s)
		if known {
			return id, nil
		}
		g.States, g.from, g.parent = append(g.States, s), append(g.from, from), append(g.parent, edge)
		for _, p := range spec.Always {
			if err := p.Holds(s); err != nil {
				return id, spec.violation(g, p.Name, err, id)
			}
		}
		if len(g.States) > spec.Bound {
			return id, fmt.Errorf("more than %d states", spec.Bound)
		}
		return id, nil
	}
	for _, s := range spec.Init {
		if _, err := visit(s, -1, -1); err != nil {
			return g, err
		}
	}
	var steps []Step[S, A]
	for at := int32(0); int(at) < len(g.States); at++ {
		g.first = append(g.first, int32(len(g.Edges)))
		from := g.States[at]
		steps = spec.Next(from, steps[:0])
		for _, step := range steps {
			act, known := acts[step.Act]
			if !known {
				act = uint16(len(g.Acts))
				acts[step.Act] = act
				g.Acts = append(g.Acts, step.Act)
			}
			edge := int32(len(g.Edges))
			g.Edges = append(g.Edges, Edge{Act: act, Own: step.Own})
			for _, p := range spec.Each {
				if err := p.Holds(from, step.Act, step.To); err != nil {
					v := spec.violation(g, p.Name, err, at)
					v.Trace = append(v.Trace, spec.line(len(v.Trace), step.Act, from, step.To))
					return g, v
				}
			}
			to, err := visit(step.To, at, edge)
			if err != nil {
				return g, err
			}
			g.Edges[edge].To = to
		}
	}
	g.first = append(g.first, int32(len(g.Edges)))
	return g, spec.live(g)
}

// index finds states by their hash. A map would store every state twice, and states
// use most of the memory.
type index[S, A comparable] struct {
	g     *Graph[S, A]
	seed  maphash.Seed
	slots []slot // open addressing, at most half full
}

// slot has a part of the hash of a state. It distinguishes most states without
// reading them from memory.
type slot struct {
	id   int32 // index in States + 1; 0: free
	hash uint32
}

func newIndex[S, A comparable](g *Graph[S, A]) *index[S, A] {
	return &index[S, A]{g: g, seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
}

// find returns the index of a state, or, for a new state, the index that it gets.
func (x *index[S, A]) find(s *S) (id int32, known bool) {
	if 2*len(x.g.States) >= len(x.slots) {
		x.grow()
	}
	hash := uint32(maphash.Comparable(x.seed, *s) >> 32)
	for i := x.first(hash); ; i = (i + 1) & (len(x.slots) - 1) {
		switch at := &x.slots[i]; {
		case at.id == 0:
			*at = slot{int32(len(x.g.States) + 1), hash}
			return at.id - 1, false
		case at.hash == hash && x.g.States[at.id-1] == *s:
			return at.id - 1, true
		}
	}
}

// first returns the slot where a search begins. It reaches all slots only if there
// are no more slots than hashes.
func (x *index[S, A]) first(hash uint32) int {
	return int(uint64(hash) * uint64(len(x.slots)) >> 32)
}

func (x *index[S, A]) grow() {
	before := x.slots
	x.slots = make([]slot, 2*len(before))
	for _, s := range before {
		if s.id == 0 {
			continue
		}
		i := x.first(s.hash)
		for x.slots[i].id > 0 {
			i = (i + 1) & (len(x.slots) - 1)
		}
		x.slots[i] = s
	}
}

// live checks the promises of progress, by walking back from good states and goals
// along the system's own steps.
func (spec Spec[S, A]) live(g *Graph[S, A]) error {
	if len(spec.Can) == 0 {
		return nil
	}
	back := backwards(g)
	for _, p := range spec.Can {
		if id := spec.stuck(g, back, p); id >= 0 {
			return spec.violation(g, p.Name, fmt.Errorf("cannot happen any more from here, whatever the system does by itself"), id)
		}
	}
	return nil
}

// stuck returns the first state from which p cannot happen, or -1.
func (spec Spec[S, A]) stuck(g *Graph[S, A], back reverse, p Can[S, A]) int32 {
	can := make([]bool, len(g.States))
	var todo []int32
	mark := func(id int32) {
		if !can[id] {
			can[id] = true
			todo = append(todo, id)
		}
	}
	for i := range g.States {
		id := int32(i)
		if p.Good != nil && p.Good(g.States[i]) {
			mark(id)
		}
		if p.Goal == nil {
			continue
		}
		for _, e := range g.Edges[g.first[id]:g.first[id+1]] {
			if e.Own && p.Goal(g.States[i], g.Acts[e.Act], g.States[e.To]) {
				mark(id)
			}
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range back.from[back.first[id]:back.first[id+1]] {
			mark(from)
		}
	}
	for i := range g.States {
		if !can[i] && (p.From == nil || p.From(g.States[i])) {
			return int32(i)
		}
	}
	return -1
}

// reverse lists the states from which own steps lead to a state.
type reverse struct{ first, from []int32 }

func backwards[S, A comparable](g *Graph[S, A]) reverse {
	r := reverse{first: make([]int32, len(g.States)+1)}
	for _, e := range g.Edges {
		if e.Own {
			r.first[e.To+1]++
		}
	}
	for i := range g.States {
		r.first[i+1] += r.first[i]
	}
	r.from = make([]int32, r.first[len(g.States)])
	next := append([]int32(nil), r.first...)
	for i := range g.States {
		for _, e := range g.Edges[g.first[i]:g.first[i+1]] {
			if e.Own {
				r.from[next[e.To]] = int32(i)
				next[e.To]++
			}
		}
	}
	return r
}

// violation returns a violation with the trace to the state.
func (spec Spec[S, A]) violation(g *Graph[S, A], name string, err error, id int32) *Violation {
	var way []int32
	for at := id; at >= 0; at = g.from[at] {
		way = append(way, at)
	}
	v := &Violation{Name: name, Err: err}
	for i := len(way) - 1; i >= 0; i-- {
		at := way[i]
		if g.parent[at] < 0 {
			v.Trace = append(v.Trace, "   0. "+strings.Join(spec.show(g.States[at]), "; "))
			continue
		}
		v.Trace = append(v.Trace, spec.line(len(v.Trace), g.Acts[g.Edges[g.parent[at]].Act], g.States[g.from[at]], g.States[at]))
	}
	return v
}

func (spec Spec[S, A]) show(s S) []string {
	if spec.Show == nil {
		return []string{fmt.Sprintf("%+v", s)}
	}
	return spec.Show(s)
}

// line returns one step of a trace: the act, and the lines that it changed.
func (spec Spec[S, A]) line(n int, act A, from, to S) string {
	before := map[string]bool{}
	for _, l := range spec.show(from) {
		before[l] = true
	}
	var changed []string
	for _, l := range spec.show(to) {
		if !before[l] {
			changed = append(changed, l)
		}
	}
	if len(changed) == 0 {
		changed = []string{"nothing else changes"}
	}
	return fmt.Sprintf("%4d. %-40s %s", n, fmt.Sprint(act), strings.Join(changed, "; "))
}
