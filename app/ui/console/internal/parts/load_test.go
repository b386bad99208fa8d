package parts

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

var someNow = time.Date(2026, 11, 21, 12, 43, 5, 0, time.UTC)

func TestThroughputHasEveryMinute(t *testing.T) {
	c := throughput(someNow, []job.MinuteTotals{{Minute: someNow.Add(-time.Minute).Truncate(time.Minute), OK: 3, Failed: 2, Skipped: 1, Canceled: 4}, {Minute: someNow.Add(-2 * time.Hour).Truncate(time.Minute), OK: 9}})
	if len(c.Rows) != 60 {
		t.Fatalf("%d rows", len(c.Rows))
	}
	sum := [3]float64{}
	for _, r := range c.Rows {
		for i, v := range r.Values {
			sum[i] += *v
		}
	}
	if last := c.Rows[59]; sum != [3]float64{3, 2, 5} || *last.Values[0] != 3 || last.Text() != "21 Nov, 12:42 UTC" {
		t.Errorf("%v %v", sum, last)
	}
}
