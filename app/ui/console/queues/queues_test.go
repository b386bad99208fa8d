package queues

import (
	"testing"

	"github.com/belfry-run/belfry/job"
)

func TestEndedPerHourIsTheSumOfTheChart(t *testing.T) {
	t.Parallel()
	d := queueData{Hour: job.MinuteTotals{OK: 1000, Failed: 200, Canceled: 30, Skipped: 4}}
	if got := d.EndedPerHour(); got != 1234 {
		t.Errorf("ended per hour: got %d, want 1234", got)
	}
}
