package textdiff

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// change is the replacement of a[a:aEnd] by b[b:bEnd].
type change struct{ a, aEnd, b, bEnd int }

// compare finds the changes from a to b, in order and without contact to each other.
//
// A line that occurs once on each side is an anchor. The anchors in the same order on
// both sides divide the texts: n log n steps. Each gap between them goes to a search
// that ends at a fixed depth with its result so far: steps in proportion to the gap.
func compare(a, b []string) []change {
	x, y := number(a, b)
	var changes []change
	gap := func(a0, a1, b0, b1 int) {
		for a0 < a1 && b0 < b1 && x[a0] == y[b0] {
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && x[a1-1] == y[b1-1] {
			a1, b1 = a1-1, b1-1
		}
		if a0 == a1 && b0 == b1 {
			return
		}
		for _, d := range lcs.DiffRunes(x[a0:a1], y[b0:b1]) {
			changes = append(changes, change{a0 + d.Start, a0 + d.End, b0 + d.ReplStart, b0 + d.ReplEnd})
		}
	}
	a0, b0 := 0, 0
	for _, at := range anchors(x, y) {
		gap(a0, at.a, b0, at.b)
		a0, b0 = at.a+1, at.b+1
	}
	gap(a0, len(x), b0, len(y))
	return joined(changes)
}

// joined merges changes that touch.
func joined(changes []change) []change {
	var out []change
	for _, c := range changes {
		if n := len(out); n > 0 && out[n-1].aEnd == c.a && out[n-1].bEnd == c.b {
			out[n-1].aEnd, out[n-1].bEnd = c.aEnd, c.bEnd
			continue
		}
		out = append(out, c)
	}
	return out
}

// number gives equal texts equal numbers, which compare faster. The library needs
// them as runes.
func number(a, b []string) (x, y []rune) {
	seen := make(map[string]rune, len(a))
	of := func(list []string) []rune {
		numbers := make([]rune, len(list))
		for i, text := range list {
			n, known := seen[text]
			if !known {
				n = rune(len(seen))
				seen[text] = n
			}
			numbers[i] = n
		}
		return numbers
	}
	return of(a), of(b)
}

type anchor struct{ a, b int }

// anchors returns the pairs of places of values that occur once in x and once in y:
// the longest sequence that is in order on both sides.
func anchors(x, y []rune) []anchor {
	const never, often = -1, -2
	place := func(list []rune, size int) []int {
		at := make([]int, size)
		for i := range at {
			at[i] = never
		}
		for i, n := range list {
			if at[n] == never {
				at[n] = i
			} else {
				at[n] = often
			}
		}
		return at
	}
	size := 0
	for _, list := range [][]rune{x, y} {
		for _, n := range list {
			size = max(size, int(n)+1)
		}
	}
	inX, inY := place(x, size), place(y, size)
	var pairs []anchor
	for i, n := range x {
		if inX[n] == i && inY[n] >= 0 {
			pairs = append(pairs, anchor{i, inY[n]})
		}
	}
	return rising(pairs)
}

// rising returns a longest subsequence of the pairs with rising b. Their a rises already.
func rising(pairs []anchor) []anchor {
	var tails []int // index of the pair that ends the best run of each length
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n, _ := slices.BinarySearchFunc(tails, p.b, func(t, b int) int { return pairs[t].b - b })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	run := make([]anchor, len(tails))
	if len(tails) == 0 {
		return nil
	}
	for i, n := tails[len(tails)-1], len(run)-1; i >= 0; i, n = before[i], n-1 {
		run[n] = pairs[i]
	}
	return run
}
