package home

import (
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// figure is a number with its course over a day.
type figure struct {
	Label, Value, Link, Tone string
	Spark                    parts.Spark
}

const (
	dayParts = 48
	dayStep  = view.DayStep * time.Minute
)

// day are the half hours of the last 24 hours, the present one last.
func (d homeData) day() (all [dayParts]job.MinuteTotals) {
	first := d.Now.UTC().Truncate(dayStep).Add(-(dayParts - 1) * dayStep)
	for i := range all {
		all[i].Minute = first.Add(time.Duration(i) * dayStep)
	}
	for _, part := range d.Day {
		if i := int(part.Minute.Sub(first) / dayStep); !part.Minute.Before(first) && i < dayParts {
			all[i].Add(part)
		}
	}
	return all
}

// spark draws a number for each half hour; a negative number is no value.
func (d homeData) spark(said, tone string, of func(job.MinuteTotals) float64) parts.Spark {
	var values []*float64
	for _, part := range d.day() {
		v := of(part)
		if v < 0 {
			values = append(values, nil)
		} else {
			values = append(values, &v)
		}
	}
	return parts.NewSpark(said+", by half hours of a day", tone, values, nil)
}

// meanLag is the mean time of jobs from due to start, or less than 0 without jobs.
func meanLag(m job.MinuteTotals) float64 {
	if m.Started == 0 {
		return -1
	}
	return float64(m.Lag) / float64(m.Started)
}

// down is the number of monitors that were down in each half hour, back to the oldest of the read outages.
func (d homeData) down() (all [dayParts]float64) {
	for i, part := range d.day() {
		seen := map[string]bool{}
		for _, o := range d.Outages.Items {
			if o.StartedAt.Before(part.Minute.Add(dayStep)) && (o.EndedAt.IsZero() || o.EndedAt.After(part.Minute)) {
				seen[o.Namespace+"/"+o.Monitor] = true
			}
		}
		all[i] = float64(len(seen))
		if n := len(d.Outages.Items); d.Outages.Next != "" && part.Minute.Before(d.Outages.Items[n-1].StartedAt) {
			all[i] = -1
		}
	}
	return all
}

// Figures are the six numbers.
func (p *page) Figures(d homeData) []figure {
	var hour, recent job.MinuteTotals
	minute, counted := d.Now.Truncate(time.Minute), 5.0
	for _, m := range d.Minutes {
		hour.Add(m)
		if !m.Minute.Before(minute.Add(-5 * time.Minute)) {
			recent.Add(m)
		}
		if !m.Minute.Before(minute) { // the present minute counts for the part that has passed
			counted = 5 + d.Now.Sub(minute).Minutes()
		}
	}
	var longest job.MinuteTotals
	for _, part := range d.Day {
		longest.Add(part)
	}
	rate := float64(recent.OK+recent.Failed) / counted
	rateText := parts.NumberText(int64(rate + .5))
	if rate > 0 && rate < 1 {
		rateText = "< 1"
	}
	wait := "–"
	if mean := meanLag(hour); mean >= 0 {
		wait = core.SpanText(time.Duration(mean))
	}
	most := "–"
	if longest.Started > 0 {
		most = core.SpanText(longest.LagMost)
	}
	up, down := d.Monitors.Statuses[monitor.StatusUp], d.Monitors.Statuses[monitor.StatusDown]
	monitors, tone := "–", ""
	if up+down > 0 {
		monitors = parts.NumberText(up) + " / " + parts.NumberText(up+down)
	}
	if down > 0 {
		tone = "bad"
	}
	failed := ""
	if d.failures() > 0 {
		failed = "bad"
	}
	outages := d.down()
	var values []*float64
	for i := range outages {
		if outages[i] < 0 {
			values = append(values, nil)
		} else {
			values = append(values, &outages[i])
		}
	}
	return []figure{
		{"Running", parts.Counted(d.Runs), p.With(p.Link("jobs"), "q", "state:running"), "", d.spark("Jobs that ran at once on average", "busy", func(m job.MinuteTotals) float64 { return m.Ran.D().Seconds() / dayStep.Seconds() })},
		{"Finished / min", rateText, p.Link("jobs"), "", d.spark("Jobs that finished", "good", func(m job.MinuteTotals) float64 { return float64(m.OK + m.Failed) })},
		{"Failed in 24 h", parts.NumberText(d.failures()), p.Link("dead"), failed, d.spark("Jobs that failed", "bad", func(m job.MinuteTotals) float64 { return float64(m.Failed) })},
		{"Mean wait, 1 h", wait, p.Link("queues"), "", d.spark("Mean wait from due to start", "busy", meanLag)},
		{"Longest wait, 24 h", most, p.Link("queues"), "", d.spark("Longest wait from due to start", "busy", func(m job.MinuteTotals) float64 {
			if m.Started == 0 {
				return -1
			}
			return float64(m.LagMost)
		})},
		{"Monitors up", monitors, p.Link("monitors"), tone, parts.NewSpark("Monitors that were down, by half hours of a day", "bad", values, nil)},
	}
}
