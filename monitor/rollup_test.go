package monitor

import (
	"math"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestRollups(t *testing.T) {
	t.Parallel()
	ms := func(n int) core.Duration { return core.Duration(time.Duration(n) * time.Millisecond) }
	var a, b, all Rollup
	a.From, a.Span = at("10:00"), core.Duration(time.Minute)
	b.From, b.Span = at("10:02"), core.Duration(time.Minute)
	for _, c := range []struct {
		outcome task.CheckOutcome
		latency core.Duration
		starved bool
	}{
		{task.CheckOK, ms(100), false}, {task.CheckDegraded, ms(300), false}, {task.CheckFail, ms(9000), false}, {task.CheckError, ms(9000), false},
		{task.CheckOK, ms(9000), true}, {task.CheckOK, 0, false}, {task.CheckOK, ms(200), false},
	} {
		a.Add(c.outcome, c.latency, c.starved)
		all.Add(c.outcome, c.latency, c.starved)
	}
	b.Add(task.CheckOK, ms(50), false)
	all.Add(task.CheckOK, ms(50), false)
	merged := Rollup{}
	merged.Merge(&b)
	merged.Merge(&a)
	merged.Merge(&Rollup{})
	all.From, all.Span = at("10:00"), core.Duration(3*time.Minute)
	p, want := merged.Point(), all.Point()
	if p != want {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	if p.OK != 5 || p.Degraded != 1 || p.Fail != 1 || p.Error != 1 || p.Min != ms(50) || p.Max != ms(300) || p.Mean != ms(650)/4 {
		t.Errorf("%+v", p)
	}
	if off := math.Abs(float64(p.P50-ms(100))) / float64(ms(100)); off > 0.05 || p.P99 > p.Max {
		t.Errorf("p50 %s, p99 %s", p.P50, p.P99)
	}
	if p := (Rollup{Fail: 3}).Point(); p.P50 != 0 || p.Mean != 0 || p.Fail != 3 {
		t.Errorf("without a good check: %+v", p)
	}
}
