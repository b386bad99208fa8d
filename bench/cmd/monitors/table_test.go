//go:build linux

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/bench/report"
)

func TestTheTableNamesContendersWithoutAMeasurement(t *testing.T) {
	f := &field{
		settings: settings{rounds: 2, turn: time.Second}, conditions: "1 CPU",
		versions: map[string]string{"blackbox": "v1.2.3"}, refused: map[string]error{"gatus": errors.New("not to be had")},
	}
	one := func(cpu time.Duration) figures {
		return figures{perCheck: cpu, rate: 20, memory: 30 << 20, uneven: report.Quantiles{P50: time.Millisecond, P99: 2 * time.Millisecond}}
	}
	list := []*contender{
		{name: "it", monitors: 20, every: time.Second, figures: []figures{one(100 * time.Microsecond), one(300 * time.Microsecond)}},
		{name: "nobody", monitors: 20, every: time.Second},
	}
	var out strings.Builder
	f.print(&out, list, time.Minute)
	for _, part := range []string{
		"- 1 CPU\n", "blackbox_exporter v1.2.3\n", "github.com/TwiN/gatus/v5 could not be built here, and is not measured: not to be had\n",
		"| it | 20 | 1s | 200 (100-300) | 20.0 (20.0-20.0) |  |  | 1.00 (1.00-1.00) | 2.00 (2.00-2.00) | 30.0 (30.0-30.0) |\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("table: want %q in it, got\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "nobody") {
		t.Errorf("table: got a line of a program that was not measured:\n%s", out.String())
	}
}
