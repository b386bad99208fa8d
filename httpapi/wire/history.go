package wire

import (
	"github.com/belfry-run/belfry/monitor"
)

type PointList struct {
	Items []monitor.SeriesPoint `json:"items" doc:"Oldest first; times in which nothing was checked are left out"`
}

type SpanList struct {
	Items []monitor.Span `json:"items" doc:"Oldest first; each holds until the next"`
}
