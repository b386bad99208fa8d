package queues

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// sparkHours is how far back the bars of the list go.
const sparkHours = 24

// queueRow is a queue in the list.
type queueRow struct {
	job.QueueStats
	Depth parts.Spark
}

// queueRows are the queues with their depth, hour by hour.
func queueRows(now time.Time, all []job.QueueStats, day job.Samples) []queueRow {
	hour := now.Truncate(time.Hour)
	points := map[string][]job.QueueSample{}
	for _, q := range day.Items {
		points[q.Queue] = q.Points
	}
	rows := make([]queueRow, len(all))
	for i, q := range all {
		values := make([]*float64, sparkHours)
		most, more := int64(0), ""
		for _, s := range points[q.Name] {
			if k := sparkHours - 1 - int(hour.Sub(s.At)/time.Hour); k >= 0 && k < sparkHours {
				v := float64(s.Ready)
				values[k] = &v
				if most = max(most, s.Ready); s.More {
					more = "over "
				}
			}
		}
		said := fmt.Sprintf("Most ready jobs by the hour, 24 hours: up to %s%s", more, parts.NumberText(most))
		if len(points[q.Name]) == 0 {
			said = "Nothing waited within 24 hours"
		}
		rows[i] = queueRow{q, parts.NewSpark(said, "busy", values, nil)}
	}
	return rows
}

// depthRange is how far back the charts of a queue go.
type depthRange struct {
	Name string
	Span time.Duration
}

var depthRanges = []depthRange{{"3h", 3 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}}

func depthRangeOf(name string) depthRange {
	for _, r := range depthRanges {
		if r.Name == name {
			return r
		}
	}
	return depthRanges[0]
}

// DepthRanges lead to the same page with other charts.
func (p *page) DepthRanges(d queueData) []parts.Tab {
	tabs := make([]parts.Tab, len(depthRanges))
	for i, r := range depthRanges {
		tabs[i] = parts.NewTab(r.Name, p.Here("range", r.Name), r.Name == d.Range.Name, "")
	}
	return tabs
}

// points are the samples of the queue, oldest first.
func (d queueData) points() []job.QueueSample {
	if len(d.Samples.Items) == 0 {
		return nil
	}
	return d.Samples.Items[0].Points
}

// Sampled reports that the chart has points.
func (d queueData) Sampled() bool { return len(d.points()) > 0 }

// More reports that some numbers are lower bounds.
func (d queueData) More() bool {
	for _, s := range d.points() {
		if s.More {
			return true
		}
	}
	return false
}

// DepthChart is how many jobs waited and ran.
func (d queueData) DepthChart() parts.Chart {
	return d.chart("Depth: most jobs ready and running, "+d.by(), "", "busy good", []string{"ready", "running"}, func(s job.QueueSample) []float64 {
		return []float64{float64(s.Ready), float64(s.Running)}
	})
}

// OldestChart is how long the oldest ready job had waited, in the unit that fits.
func (d queueData) OldestChart() parts.Chart {
	unit, name := time.Second, "s"
	for _, s := range d.points() {
		switch {
		case s.Oldest.D() >= 4*time.Hour:
			unit, name = time.Hour, "h"
		case s.Oldest.D() >= 10*time.Minute && unit < time.Minute:
			unit, name = time.Minute, "min"
		}
	}
	return d.chart("Oldest waiting, "+d.by(), name, "warn", []string{"oldest ready job"}, func(s job.QueueSample) []float64 {
		return []float64{float64(s.Oldest.D().Milliseconds()*10/unit.Milliseconds()) / 10}
	})
}

// by is the span of time of a point.
func (d queueData) by() string {
	switch step := d.Samples.Step; step.D() {
	case time.Minute:
		return "by minute"
	case time.Hour:
		return "by hour"
	default:
		return "by " + core.Duration(step).String()
	}
}

// chart draws the samples. An empty row between samples further apart than a step leaves a gap in the line.
func (d queueData) chart(title, unit, tones string, series []string, values func(job.QueueSample) []float64) parts.Chart {
	c := parts.Chart{Title: title, Kind: "line", Unit: unit, X: "From", Series: series, Tones: tones}
	for i, s := range d.points() {
		if all := d.points(); i > 0 && s.At.Sub(all[i-1].At) > d.Samples.Step.D() {
			c.Rows = append(c.Rows, parts.ChartRow{At: all[i-1].At.Add(d.Samples.Step.D()), Values: make([]*float64, len(series))})
		}
		row := parts.ChartRow{At: s.At}
		for _, v := range values(s) {
			row.Values = append(row.Values, &v)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}
