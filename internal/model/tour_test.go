package model

import (
	"slices"

	"github.com/belfry-run/belfry/internal/model/check"
)

// tours returns paths from the first state that together take every step of a graph.
// Each follows steps that were not taken, or the shortest path to the next such step,
// until none is reachable or the path is long.
func tours(g *check.Graph[State, Act], long int) (all [][]int32) {
	w := walker{g: g, left: make([][]int32, len(g.States)), by: make([]int32, len(g.States)), from: make([]int32, len(g.States))}
	for id := range g.States {
		for edge, end := g.Out(int32(id)); edge < end; edge++ {
			w.left[id] = append(w.left[id], edge)
		}
	}
	for {
		way := w.tour(long)
		if len(way) == 0 {
			return all
		}
		all = append(all, way)
	}
}

// walker records, for each state, which of its steps were not taken.
type walker struct {
	g        *check.Graph[State, Act]
	left     [][]int32
	by, from []int32 // for detour: the step that led to a state, and its origin
}

func (w *walker) tour(long int) (way []int32) {
	at := int32(0)
	for len(way) < long {
		if len(w.left[at]) == 0 {
			detour := w.detour(at)
			if len(detour) == 0 {
				return way
			}
			way = append(way, detour...)
			at = w.g.Edges[detour[len(detour)-1]].To
			continue
		}
		edge := w.pick(at)
		way = append(way, edge)
		at = w.g.Edges[edge].To
	}
	return way
}

// pick takes the step to the state with the most steps left, but steps to states
// without further steps first.
func (w *walker) pick(at int32) int32 {
	best, most := 0, -1
	for i, edge := range w.left[at] {
		to := w.g.Edges[edge].To
		if to == at {
			best = i
			break
		}
		if n := len(w.left[to]); n > most {
			best, most = i, n
		}
	}
	edge := w.left[at][best]
	w.left[at] = slices.Delete(w.left[at], best, best+1)
	return edge
}

// detour returns the shortest path to a state with steps left, or nil if none is
// reachable.
func (w *walker) detour(start int32) (way []int32) {
	for i := range w.by {
		w.by[i] = -1
	}
	seen := []int32{start}
	for i := 0; i < len(seen); i++ {
		at := seen[i]
		if len(w.left[at]) > 0 {
			for ; at != start; at = w.from[at] {
				way = append(way, w.by[at])
			}
			slices.Reverse(way)
			return way
		}
		for edge, end := w.g.Out(at); edge < end; edge++ {
			if to := w.g.Edges[edge].To; to != start && w.by[to] < 0 {
				w.by[to], w.from[to] = edge, at
				seen = append(seen, to)
			}
		}
	}
	return nil
}
