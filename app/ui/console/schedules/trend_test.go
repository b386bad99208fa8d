package schedules

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

func TestTrendOfDurations(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	ran := func(state job.State, ago, took time.Duration) view.StripResult {
		return view.StripResult{JobID: 1, State: state, At: at.Add(-ago), Took: core.Duration(took)}
	}
	results := []view.StripResult{
		ran(job.Running, 0, 0), ran(job.Failed, time.Hour, 90*time.Second), {State: job.Skipped, At: at}, ran(job.Canceled, 2*time.Hour, time.Minute),
		ran(job.Succeeded, 3*time.Hour, 1500*time.Millisecond),
	}
	c := trendOf(results)
	if c == nil || c.Title != "Duration of the last 2 runs" || c.Unit != "s" || len(c.Rows) != 2 {
		t.Fatalf("%+v", c)
	}
	first, last := c.Rows[0], c.Rows[1]
	if !first.At.Equal(at.Add(-3*time.Hour)) || *first.Values[0] != 1.5 || first.Values[1] != nil || last.Values[0] != nil || *last.Values[1] != 90 {
		t.Errorf("%+v %+v", first, last)
	}
	if c := trendOf(results[:4]); c != nil {
		t.Errorf("of one run: %+v", c)
	}
	for took, unit := range map[time.Duration]string{time.Second: "ms", 2 * time.Second: "s", 10 * time.Minute: "min", 5 * time.Hour: "h"} {
		if c := trendOf([]view.StripResult{ran(job.Succeeded, 0, took), ran(job.Succeeded, time.Hour, took/2)}); c.Unit != unit {
			t.Errorf("%s is in %s, want %s", took, c.Unit, unit)
		}
	}
}
