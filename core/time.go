package core

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// Later returns the later of two instants.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Sooner returns the earlier of two instants; zero means never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Spread returns a number in [0,1) that depends only on the arguments.
func Spread(id string, n int64) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + "/" + strconv.FormatInt(n, 10)))
	// The bits of FNV are well mixed only after a final avalanche (the finisher of MurmurHash3, public domain, Austin
	// Appleby).
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// OnTime is how late a run may be fired and still count as on time, for a schedule without catch-up. It must exceed the
// time between two passes of a busy node. One second, as in another scheduler, is known to drop runs.
const OnTime = 10 * time.Second

// Micro returns the instant as Belfry stores it: in UTC, with whole microseconds, without a monotonic reading.
func Micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Share reports whether two lists have an element in common.
func Share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
