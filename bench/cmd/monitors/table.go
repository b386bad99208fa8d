//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/internal/bench/report"
)

// print writes the conditions and the table. A figure is the median of the rounds, with the least and the greatest.
func (f *field) print(w io.Writer, list []*contender, took time.Duration) {
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	out("- %s\n", f.conditions)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		if err := f.refused[name]; err != nil {
			out("- %s %s could not be built here, and is not measured: %v\n", name, peers[name].pkg, err)
			continue
		}
		out("- %s %s\n", peers[name].pkg, f.versions[name])
	}
	out("- %d rounds of %s in turns, in %s; a figure is the median, with the least and the greatest\n\n", f.rounds, f.settings.turn, took.Round(time.Second))
	out("| contender | monitors | every | CPU, us/check | checks/s | start lag p50, ms | p99, ms | cadence off by p50, ms | p99, ms | memory, MiB |\n")
	out("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range list {
		if len(c.figures) == 0 {
			continue
		}
		column := func(of func(figures) float64) string {
			var values []float64
			for _, one := range c.figures {
				values = append(values, of(one))
			}
			s := report.SpreadOf(values)
			if s.Median == 0 {
				return ""
			}
			if s.Rounds == 1 {
				return digits(s.Median)
			}
			return fmt.Sprintf("%s (%s-%s)", digits(s.Median), digits(s.Least), digits(s.Most))
		}
		ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
		out("| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, c.monitors, c.every,
			column(func(f figures) float64 { return float64(f.perCheck) / 1e3 }), column(func(f figures) float64 { return f.rate }),
			column(func(f figures) float64 { return ms(f.lag.P50) }), column(func(f figures) float64 { return ms(f.lag.P99) }),
			column(func(f figures) float64 { return ms(f.uneven.P50) }), column(func(f figures) float64 { return ms(f.uneven.P99) }),
			column(func(f figures) float64 { return f.memory / (1 << 20) }))
	}
}

func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
