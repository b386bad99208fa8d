package schedules

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// trendRuns is how many results the chart of durations is made of at most.
const trendRuns = 100

// trendOf is how long the last runs took, oldest first: a bar each. Results are the newest first. With fewer than two there
// is none.
func trendOf(results []view.StripResult) *parts.Chart {
	c := parts.Chart{Kind: "bars", X: "Finished", Series: []string{"succeeded", "failed"}, Tones: "good bad"}
	longest := time.Duration(0)
	var runs []view.StripResult
	for _, r := range slices.Backward(results) {
		if r.JobID != 0 && r.Took > 0 && (r.State == job.Succeeded || r.State == job.Failed) {
			runs, longest = append(runs, r), max(longest, r.Took.D())
		}
	}
	if len(runs) < 2 {
		return nil
	}
	unit, name := time.Millisecond, "ms"
	for _, u := range []struct {
		from, unit time.Duration
		name       string
	}{{2 * time.Second, time.Second, "s"}, {10 * time.Minute, time.Minute, "min"}, {4 * time.Hour, time.Hour, "h"}} {
		if longest >= u.from {
			unit, name = u.unit, u.name
		}
	}
	c.Unit, c.Title = name, fmt.Sprintf("Duration of the last %d runs", len(runs))
	for _, r := range runs {
		v := math.Round(float64(r.Took)/float64(unit)*100) / 100
		row := parts.ChartRow{At: r.At, Values: []*float64{&v, nil}}
		if r.State == job.Failed {
			row.Values = []*float64{nil, &v}
		}
		c.Rows = append(c.Rows, row)
	}
	return &c
}
