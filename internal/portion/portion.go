// Package portion divides the cases of long tests, so that a run with little time takes a portion of them.
//
// BELFRY_PORTION=2/3 takes the second of three portions, a third of the cases. Without it a test takes all of its cases. The portions
// 1/3, 2/3 and 3/3 make the whole: ".ci/run" takes the one that the commit chooses, and the nightly run takes all.
package portion

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// Env names the portion that a run takes.
const Env = "BELFRY_PORTION"

// Of returns the cases of all that this run takes, in their order. It fails the test if the portion has none of them.
func Of[T any](t testing.TB, all []T) []T {
	t.Helper()
	some, err := cut(os.Getenv(Env), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(some) < len(all) {
		t.Logf("%s=%s: %d of %d cases", Env, os.Getenv(Env), len(some), len(all))
	}
	return some
}

// Names is [Of] the keys of a map, in order.
func Names[K cmp.Ordered, V any](t testing.TB, all map[K]V) []K {
	t.Helper()
	return Of(t, slices.Sorted(maps.Keys(all)))
}

// cut returns the portion of all that text names.
func cut[T any](text string, all []T) (some []T, err error) {
	if text == "" {
		return all, nil
	}
	var which, of int
	if n, err := fmt.Sscanf(text, "%d/%d", &which, &of); n < 2 || err != nil || text != fmt.Sprintf("%d/%d", which, of) || which < 1 || which > of {
		return nil, fmt.Errorf("%s=%q is no portion, such as 1/3 or 3/3", Env, text)
	}
	// One of each row of cases, of each row another one: what seeds do often depends on their rest by 3.
	for row := 0; row*of < len(all); row++ {
		if i := row*of + (which-1+row)%of; i < len(all) {
			some = append(some, all[i])
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("%s=%s takes none of %d cases", Env, text, len(all))
	}
	return some, nil
}
