package uptime

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

const lastLatencies = 30 // checks

// latenciesOf returns the median latency of each step, or the latencies of the last checks if all are within one step. The
// parts are in order of time.
func latenciesOf(parts []monitor.Rollup, step time.Duration) (all []core.Duration) {
	if len(parts) == 0 {
		return nil
	}
	first, last := parts[0].From.Truncate(step), parts[len(parts)-1].From.Truncate(step)
	if first.Equal(last) {
		for _, p := range parts[max(len(parts)-lastLatencies, 0):] {
			all = append(all, p.Point().P50)
		}
		return all
	}
	for at := first; !at.After(last); at = at.Add(step) {
		n := 0
		for n < len(parts) && parts[n].From.Before(at.Add(step)) {
			n++
		}
		all = append(all, summed(parts[:n]).P50)
		parts = parts[n:]
	}
	return all
}
