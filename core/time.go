package core

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// Later is the later of two instants.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Sooner is the earlier of two instants, where zero means never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Spread is a number in [0,1) that is the same for the same arguments.
func Spread(id string, n int64) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + "/" + strconv.FormatInt(n, 10)))
	// FNV's low bits are the well-mixed ones only after a final avalanche (the finisher of MurmurHash3, public domain,
	// Austin Appleby).
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// OnTime is how late a run may be fired and still count as on time, for a schedule that wants no catch-up. It must stay
// above the time between two looks of a busy node; one second, as another scheduler has it, is known to drop runs.
const OnTime = 10 * time.Second

// Micro is the instant as Belfry keeps it: UTC, whole microseconds, no monotonic reading.
func Micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Share reports that two lists have something in common.
func Share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
