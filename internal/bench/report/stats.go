//go:build linux

package report

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Lags collects durations. It is safe for use by many goroutines.
type Lags struct {
	mu  sync.Mutex
	all []time.Duration
}

// Add adds a duration.
func (l *Lags) Add(d time.Duration) {
	l.mu.Lock()
	l.all = append(l.all, d)
	l.mu.Unlock()
}

// Reset removes all durations.
func (l *Lags) Reset() {
	l.mu.Lock()
	l.all = nil
	l.mu.Unlock()
}

// Quantiles returns the quantiles of the durations.
func (l *Lags) Quantiles() Quantiles {
	l.mu.Lock()
	defer l.mu.Unlock()
	return QuantilesOf(l.all)
}

// Quantiles has the median, the 99th percentile, and the maximum.
type Quantiles struct {
	N                  int
	P50, P95, P99, Max time.Duration
}

// QuantilesOf returns the quantiles of durations. It sorts its argument.
func QuantilesOf(all []time.Duration) Quantiles {
	if len(all) == 0 {
		return Quantiles{}
	}
	slices.Sort(all)
	return Quantiles{len(all), Rank(all, 0.5), Rank(all, 0.95), Rank(all, 0.99), all[len(all)-1]}
}

// Rank returns the quantile q by nearest rank.
func Rank(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Spread has the median and the range of a figure over the rounds.
type Spread struct {
	Rounds              int
	Least, Median, Most float64
}

// SpreadOf returns the spread of figures. It does not change its argument.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{n, v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}
