package job

import (
	"cmp"
	"slices"
)

// places are the places of attempts in a list, in the order of the attempts. A
// map, made anew for each batch, was a twentieth of what a worker's process does
// for a short job.
type places struct {
	list  []Finished
	order []int
	last  int // in the order, that was looked up: the first of its attempt
}

// PlacesOf is where the attempts of a list are in it.
func PlacesOf(list []Finished) *places {
	p := &places{list: list, order: make([]int, len(list))}
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortFunc(p.order, func(i, k int) int { return cmp.Or(compareRefs(list[i].Ref, list[k].Ref), i-k) })
	return p
}

// Of is the first place of an attempt that is in the list. Callers that ask for one after
// the other in their order need not search.
func (p *places) Of(ref Ref) int {
	if next := p.last + 1; p.at(p.last) != ref {
		if next == len(p.order) || p.at(next) != ref {
			next, _ = slices.BinarySearchFunc(p.order, ref, func(i int, ref Ref) int { return compareRefs(p.list[i].Ref, ref) })
		}
		p.last = next
	}
	return p.order[p.last]
}

func (p *places) at(i int) Ref { return p.list[p.order[i]].Ref }

func compareRefs(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Lease, b.Lease))
}
