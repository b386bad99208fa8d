//go:build linux

package target

import (
	"slices"
	"time"
)

// Uneven returns the deviations of the distances between successive requests of each monitor from the wanted distance.
func Uneven(seen []Arrival, every time.Duration) (list []time.Duration) {
	last := map[int64]int64{}
	for _, a := range seen {
		if before, ok := last[a.Monitor]; ok {
			list = append(list, (time.Duration(a.Nanos-before) - every).Abs())
		}
		last[a.Monitor] = a.Nanos
	}
	return list
}

// Seconds returns the least and the most requests in a whole second of a span. The seconds are those of the clock: all
// checks of one second begin with it, and a second that began in their middle would share them with the next.
func Seconds(seen []Arrival, from, to time.Time) (least, most int) {
	from, to = from.Add(time.Second-1).Truncate(time.Second), to.Truncate(time.Second)
	counts := make([]int, max(int(to.Sub(from)/time.Second), 1))
	for _, a := range seen {
		if since := a.At().Sub(from); since >= 0 && int(since/time.Second) < len(counts) {
			counts[since/time.Second]++
		}
	}
	return slices.Min(counts), slices.Max(counts)
}
