package job

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAPlaceIsTheFirstOfItsAttempt(t *testing.T) {
	t.Parallel()
	for range 2000 {
		list := make([]Finished, 1+rand.N(8))
		for i := range list {
			list[i].Ref = Ref{JobID: rand.N[int64](4), Lease: rand.N[int64](2)}
		}
		p := PlacesOf(list)
		asked := slices.Clone(list) // in order, as usual, and in random order
		slices.SortFunc(asked, func(a, b Finished) int { return compareRefs(a.Ref, b.Ref) })
		for range 3 * len(list) {
			asked = append(asked, list[rand.N(len(list))])
		}
		for _, f := range asked {
			ref := f.Ref
			if got, want := p.Of(ref), slices.IndexFunc(list, func(f Finished) bool { return f.Ref == ref }); got != want {
				t.Fatalf("%+v is in place %d of %+v, and not %d", ref, want, list, got)
			}
		}
	}
}
