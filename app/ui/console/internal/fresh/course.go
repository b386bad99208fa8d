package fresh

import (
	"slices"
	"strings"
)

// pieces cuts a text behind each ">", as the script does: a piece is a tag with the text
// before it. So a cell that changes is sent, and not its row.
func pieces(text string) []string { return strings.SplitAfter(text, ">") }

// courseOf makes one list of pieces from another: copied runs and new texts. A piece
// that moved is copied too, so this is no comparison in order. A piece that stands in
// many places is taken from the first one behind the last copy, or runs would be short.
func courseOf(old, new []string) (course []any) {
	places := make(map[string][]int, len(old))
	for i, piece := range old {
		places[piece] = append(places[piece], i)
	}
	from, n := 0, 0 // the run that is being copied
	var added strings.Builder
	end := func() {
		if n > 0 {
			course = append(course, [2]int{from, n})
		}
		if added.Len() > 0 {
			course = append(course, added.String())
		}
		n = 0
		added.Reset()
	}
	next := 0 // behind the last copy
	for _, piece := range new {
		at := places[piece]
		if len(at) == 0 {
			added.WriteString(piece)
			continue
		}
		i, _ := slices.BinarySearch(at, next)
		if i == len(at) {
			i = 0
		}
		if added.Len() > 0 || n == 0 || at[i] != next {
			end()
			from = at[i]
		}
		n++
		next = at[i] + 1
	}
	end()
	return course
}
