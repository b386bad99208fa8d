// Package nearest finds the word that was probably meant. Errors about unknown fields, flags and names use it for their hint;
// without a close word there is none.
package nearest

import (
	"slices"
	"strings"
)

// Of is the known word that was probably meant by an unknown one, or
// empty when none is near.
func Of(word string, known []string) string {
	low := strings.ToLower(word)
	best, least := "", max(len(word)/3, 1)+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		d := distance(low, strings.ToLower(k))
		if len(low) >= 3 && strings.HasPrefix(k, low) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters have to be inserted, removed, changed or
// swapped with their neighbour to get from a to b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = last, row, before
	}
	return rows[1][len(b)]
}
