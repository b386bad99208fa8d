package spell

import (
	"strconv"
	"strings"
)

// Nearest is the candidate that differs least from s, or "" when none is near: at most a third of s may be wrong.
func Nearest(s string, list []string) string {
	best, least := "", max(1, len(s)/3)+1
	for _, c := range list {
		if d := distance(strings.ToLower(s), strings.ToLower(c), least); d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean asks for the candidate, or falls back to another hint.
func DidYouMean(candidate, otherwise string) string {
	if candidate == "" {
		return otherwise
	}
	return "did you mean " + strconv.Quote(candidate) + "?"
}

// distance counts the letters to change, add, drop or swap with a neighbour, up to limit (Damerau-Levenshtein, optimal
// string alignment).
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
