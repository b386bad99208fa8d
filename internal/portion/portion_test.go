package portion

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The portions of a whole have each case once.
func TestPortionsMakeTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, 9).Draw(t, "of")
		all := make([]int, rapid.IntRange(of, 50).Draw(t, "cases"))
		for i := range all {
			all[i] = i
		}
		var seen []int
		for which := range of {
			some, err := cut(fmt.Sprintf("%d/%d", which+1, of), all)
			if err != nil {
				t.Fatal(err)
			}
			if len(some) > len(all)/of+1 {
				t.Errorf("portion %d of %d has %d of %d cases", which+1, of, len(some), len(all))
			}
			seen = append(seen, some...)
		}
		if slices.Sort(seen); !slices.Equal(seen, all) {
			t.Errorf("the portions have %v", seen)
		}
	})
}

func TestWithoutAPortionAllCasesRun(t *testing.T) {
	t.Parallel()
	if some, err := cut("", []string{"a", "b"}); err != nil || len(some) != 2 {
		t.Errorf("got %v, %v, want both", some, err)
	}
}

func TestAPortionThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3":    `BELFRY_PORTION="3" is no portion, such as 1/3 or 3/3`,
		"0/3":  `BELFRY_PORTION="0/3" is no portion, such as 1/3 or 3/3`,
		"4/3":  `BELFRY_PORTION="4/3" is no portion, such as 1/3 or 3/3`,
		"1/3x": `BELFRY_PORTION="1/3x" is no portion, such as 1/3 or 3/3`,
		"1/0":  `BELFRY_PORTION="1/0" is no portion, such as 1/3 or 3/3`,
		"3/3":  `BELFRY_PORTION=3/3 takes none of 2 cases`,
	} {
		if some, err := cut(text, []string{"a", "b"}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v, want %s", text, some, err, want)
		}
	}
}
