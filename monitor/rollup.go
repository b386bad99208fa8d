package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Rollup summarizes the checks of a span of time. Roll-ups of different spans or
// nodes merge without loss.
type Rollup struct {
	From     time.Time     `json:"from"`
	Span     core.Duration `json:"span"`
	OK       int64         `json:"ok"`
	Degraded int64         `json:"degraded"`
	Fail     int64         `json:"fail"`
	Error    int64         `json:"error"`
	// Latencies of good checks whose worker was not starved.
	Sum     core.Duration `json:"sum"`
	Min     core.Duration `json:"min"`
	Max     core.Duration `json:"max"`
	Latency job.Histogram `json:"-"`
}

// Add counts one check.
func (r *Rollup) Add(outcome task.CheckOutcome, latency core.Duration, starved bool) {
	switch outcome {
	case task.CheckOK:
		r.OK++
	case task.CheckDegraded:
		r.Degraded++
	case task.CheckFail:
		r.Fail++
		return
	default:
		r.Error++
		return
	}
	if starved || latency <= 0 {
		return
	}
	if r.Min == 0 || latency < r.Min {
		r.Min = latency
	}
	r.Max = max(r.Max, latency)
	r.Sum += latency
	r.Latency.Add(latency.D())
}

// Merge adds o. The span becomes the smallest one that contains both.
func (r *Rollup) Merge(o *Rollup) {
	if !o.From.IsZero() {
		begin, end := core.Sooner(r.From, o.From), core.Later(r.From.Add(r.Span.D()), o.From.Add(o.Span.D()))
		r.From, r.Span = begin, core.Duration(end.Sub(begin))
	}
	r.OK += o.OK
	r.Degraded += o.Degraded
	r.Fail += o.Fail
	r.Error += o.Error
	r.Sum += o.Sum
	if o.Min > 0 && (r.Min == 0 || o.Min < r.Min) {
		r.Min = o.Min
	}
	r.Max = max(r.Max, o.Max)
	r.Latency.Merge(&o.Latency)
}

// Series is the history of a monitor as points, oldest first.
type Series []SeriesPoint

// SeriesPoint is the summary of a span of time. The latencies are of good checks,
// and absent if there were none.
type SeriesPoint struct {
	From     time.Time     `json:"from"`
	Span     core.Duration `json:"span"`
	OK       int64         `json:"ok"`
	Degraded int64         `json:"degraded"`
	Fail     int64         `json:"fail"`
	Error    int64         `json:"error"`
	P50      core.Duration `json:"p50,omitempty" doc:"At most 5% off, as p95 and p99"`
	P95      core.Duration `json:"p95,omitempty"`
	P99      core.Duration `json:"p99,omitempty"`
	Mean     core.Duration `json:"mean,omitempty"`
	Min      core.Duration `json:"min,omitempty"`
	Max      core.Duration `json:"max,omitempty"`
}

// Point returns the roll-up as a point of a series.
func (r Rollup) Point() SeriesPoint {
	p := SeriesPoint{
		From: r.From, Span: r.Span, OK: r.OK, Degraded: r.Degraded, Fail: r.Fail, Error: r.Error,
		P50: r.quantile(0.5), P95: r.quantile(0.95), P99: r.quantile(0.99), Min: r.Min, Max: r.Max,
	}
	if n := r.Latency.Count(); n > 0 {
		p.Mean = r.Sum / core.Duration(n)
	}
	return p
}

// quantile returns a quantile of the latencies, within the measured range.
func (r Rollup) quantile(q float64) core.Duration {
	if r.Latency.Count() == 0 {
		return 0
	}
	return min(max(core.Duration(r.Latency.Quantile(q)), r.Min), r.Max)
}
