package parts

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// loadWord is the chip of a queue: paused, behind or active.
func loadWord(q job.QueueLoad) string {
	switch {
	case !q.PausedAt.IsZero():
		return "paused"
	case q.Behind:
		return "behind"
	}
	return "active"
}

// loadRate is how many jobs of a queue ended per minute.
func loadRate(q job.QueueLoad) string {
	n := q.Rate.OK + q.Rate.Failed
	if n == 0 {
		return "–"
	}
	if n < 5 {
		return "under 1"
	}
	return NumberText(n / 5)
}

// loadLag is how long jobs of a queue waited from due to start.
func loadLag(q job.QueueLoad) string {
	if q.Rate.Started == 0 {
		return "–"
	}
	return core.SpanText(q.Rate.Lag.D() / time.Duration(q.Rate.Started))
}

// waited is the wait of the oldest job, which is due since then.
func waited(now, oldest time.Time) string {
	if oldest.IsZero() {
		return "–"
	}
	return core.SpanText(max(0, now.Sub(oldest)))
}

// countOver writes a number that was counted up to a cap.
func countOver(c core.Counted) string {
	if c.More {
		return "over " + NumberText(c.Count)
	}
	return NumberText(c.Count)
}

// throughput is the number of jobs that ended in each minute of the last hour.
func throughput(now time.Time, minutes []job.MinuteTotals) Chart {
	c := Chart{Title: "Jobs that ended, by minute", Kind: "stacked", X: "Minute", Series: []string{"succeeded", "failed", "canceled or skipped"}, Tones: "good bad idle"}
	byMinute := map[int64]job.MinuteTotals{}
	for _, m := range minutes {
		byMinute[m.Minute.Unix()] = m
	}
	for at := now.Truncate(time.Minute).Add(-time.Hour); at.Before(now.Truncate(time.Minute)); at = at.Add(time.Minute) {
		m := byMinute[at.Unix()]
		row := ChartRow{At: at}
		for _, n := range []int64{m.OK, m.Failed, m.Canceled + m.Skipped} {
			f := float64(n)
			row.Values = append(row.Values, &f)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}
