package uptime

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func TestLatencies(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	checks := func(every time.Duration, latencies ...core.Duration) (all []monitor.Rollup) {
		for i, l := range latencies {
			r := monitor.Rollup{From: start.Add(time.Duration(i) * every)}
			if l > 0 {
				r.Add(task.CheckOK, l, false)
			} else {
				r.Add(task.CheckFail, 0, false)
			}
			all = append(all, r)
		}
		return all
	}
	ms := core.Duration(time.Millisecond)
	near := func(a, b core.Duration) bool { return max(a-b, b-a) <= b/5 } // as far as a histogram tells
	for name, c := range map[string]struct{ got, want []core.Duration }{
		"none":          {latenciesOf(nil, time.Hour), nil},
		"one hour":      {latenciesOf(checks(time.Minute, 10*ms, 0, 30*ms), time.Hour), []core.Duration{10 * ms, 0, 30 * ms}},
		"hours":         {latenciesOf(checks(30*time.Minute, 10*ms, 10*ms, 40*ms, 40*ms), time.Hour), []core.Duration{10 * ms, 40 * ms}},
		"with a gap":    {latenciesOf(checks(2*time.Hour, 10*ms, 40*ms), time.Hour), []core.Duration{10 * ms, 0, 40 * ms}},
		"the last ones": {latenciesOf(checks(time.Second, slices.Repeat([]core.Duration{10 * ms}, 100)...), time.Hour), slices.Repeat([]core.Duration{10 * ms}, lastLatencies)},
	} {
		if !slices.EqualFunc(c.got, c.want, near) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}
