package model

import (
	"slices"

	"github.com/belfry-run/belfry/internal/model/check"
)

// tours are ways from the first state on that together take every step of a
// graph. Each goes on along steps that were not taken, over the shortest way to
// the next of them, until there are none ahead or it has become long.
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

// walker remembers, for each state, which of its steps were not taken.
type walker struct {
	g        *check.Graph[State, Act]
	left     [][]int32
	by, from []int32 // for detour: the step that led to a state, and from where
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

// pick takes the step that leads to where most is left to do, and first of all
// those that lead nowhere.
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

// detour is the shortest way to a state that has steps left; nil if there is
// none ahead.
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
