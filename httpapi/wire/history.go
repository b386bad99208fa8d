package wire

import (
	"github.com/belfry-run/belfry/monitor"
)

// PointList is the answer with the results of checks over time.
type PointList struct {
	Items []monitor.SeriesPoint `json:"items" doc:"Oldest first; times in which nothing was checked are left out"`
}

// SpanList is the answer with a timeline.
type SpanList struct {
	Items []monitor.Span `json:"items" doc:"Oldest first; each holds until the next"`
}
