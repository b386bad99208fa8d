package store

import (
	"cmp"
	"slices"

	"github.com/belfry-run/belfry"
)

// places are the places of attempts in a list, in the order of the attempts. A
// map, made anew for each batch, was a twentieth of what a worker's process does
// for a short job.
type places struct {
	list  []belfry.Finished
	order []int
}

func placesOf(list []belfry.Finished) places {
	p := places{list, make([]int, len(list))}
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortFunc(p.order, func(i, k int) int { return cmp.Or(compareRefs(list[i].Ref, list[k].Ref), i-k) })
	return p
}

// of is the first place of an attempt that is in the list.
func (p places) of(ref belfry.Ref) int {
	at, _ := slices.BinarySearchFunc(p.order, ref, func(i int, ref belfry.Ref) int { return compareRefs(p.list[i].Ref, ref) })
	return p.order[at]
}

func compareRefs(a, b belfry.Ref) int {
	return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Lease, b.Lease))
}
