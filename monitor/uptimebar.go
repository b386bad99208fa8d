package monitor

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// BarsQuery asks for the recent states of monitors, as bars of equal length.
type BarsQuery struct {
	Namespace string
	Monitors  []string // at most [MaxBarMonitors]; unknown names are left out
	Span      BarSpan  // default: 90d
}

// BarSpan is the period of the bars.
type BarSpan string

// The spans: 90 days of UTC, or 48 half hours.
const (
	BarsQuarter BarSpan = "90d"
	BarsDay     BarSpan = "24h"
)

// MaxBarMonitors is the most monitors of one [BarsQuery].
const MaxBarMonitors = 100

// Validate returns the problems of the query as one error, or nil.
func (q BarsQuery) Validate() error {
	var p core.Problems
	if len(q.Monitors) == 0 || len(q.Monitors) > MaxBarMonitors {
		p.Add("monitor", fmt.Sprint(len(q.Monitors)), fmt.Sprintf("are not 1 to %d names", MaxBarMonitors), "")
	}
	if _, n := q.Span.grid(); n == 0 {
		p.Add("span", string(q.Span), "is not a span of bars", "one of 24h, 90d")
	}
	return p.Err("bars")
}

// Bars are the recent states of a target. The numbers cover all bars.
type Bars struct {
	Monitor   string          `json:"monitor"`
	Ratio     *float64        `json:"ratio" doc:"Up of up and down, 0 to 1; null when neither was seen"`
	Coverage  float64         `json:"coverage" doc:"Part of the span that was looked at or was maintenance, 0 to 1"`
	Outages   int             `json:"outages"`
	P50       core.Duration   `json:"p50,omitempty" doc:"Latency of good checks"`
	P95       core.Duration   `json:"p95,omitempty"`
	P99       core.Duration   `json:"p99,omitempty"`
	Step      core.Duration   `json:"step" doc:"Length of a bar; the last is not over yet"`
	Bars      []UptimeBar     `json:"bars" doc:"Oldest first"`
	Latencies []core.Duration `json:"latencies,omitempty" doc:"Median latency of good checks by the hour, or by the day with span 90d, oldest first; 0: there was none. Of the last 30 checks where all were within one"`
}

// UptimeBar is the state of a target in one bar.
type UptimeBar struct {
	From        time.Time     `json:"from"`
	Ratio       *float64      `json:"ratio,omitempty" doc:"Up of up and down, 0 to 1; absent when neither was seen"`
	Coverage    float64       `json:"coverage,omitempty" doc:"Part of it that was looked at or was maintenance, 0 to 1"`
	Down        core.Duration `json:"down,omitempty"`
	Maintenance core.Duration `json:"maintenance,omitempty"`
	Paused      core.Duration `json:"paused,omitempty"`
}

// grid returns the length of a bar and the number of bars.
func (s BarSpan) grid() (step time.Duration, n int) {
	switch s {
	case BarsQuarter, "":
		return 24 * time.Hour, 90
	case BarsDay:
		return 30 * time.Minute, 48
	}
	return 0, 0
}

// Step returns the length of a bar.
func (s BarSpan) Step() time.Duration {
	step, _ := s.grid()
	return step
}

// From returns the start of the first bar if the last one contains now.
func (s BarSpan) From(now time.Time) time.Time {
	step, n := s.grid()
	return now.UTC().Truncate(step).Add(-time.Duration(n-1) * step)
}

// BarsOf sums up a timeline in bars up to now. The spans are as for [UptimeOf].
func BarsOf(spans []Span, span BarSpan, now, observedUntil time.Time) Bars {
	step, n := span.grid()
	if n == 0 {
		return Bars{}
	}
	first := span.From(now)
	all := UptimeOf(spans, first, now, observedUntil)
	b := Bars{Ratio: all.Ratio, Coverage: all.Coverage, Outages: all.Outages, Step: core.Duration(step), Bars: make([]UptimeBar, n)}
	for i := range b.Bars {
		from := first.Add(time.Duration(i) * step)
		for len(spans) > 1 && !spans[1].From.After(from) {
			spans = spans[1:] // ended before the bar begins
		}
		to := from.Add(step)
		if to.After(now) {
			to = now
		}
		u := UptimeOf(spans, from, to, observedUntil)
		b.Bars[i] = UptimeBar{From: from, Ratio: u.Ratio, Coverage: u.Coverage, Down: u.Down, Maintenance: u.Maintenance, Paused: u.Paused}
	}
	return b
}
