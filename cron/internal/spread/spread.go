// Package spread gives each seed a stable offset, so that schedules with one rule do not all start together. The offset
// depends on the seed and its place alone, and is the same on each node and after each restart.
package spread

// Of is a stable number in [0, n) for a seed and the place it is used in. It decides H and interval phases, which
// people come to rely on: it must never change. FNV-1a with a finishing mix, so that seeds that differ in one digit
// land far apart.
func Of(seed, place string, n int64) int64 {
	h := uint64(14695981039346656037)
	for _, s := range [2]string{place, seed} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int64(h % uint64(n))
}
