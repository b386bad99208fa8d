//go:build linux

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/bench/rates"
)

func TestTheShortestRunMakesADocument(t *testing.T) {
	o := Short()
	o.hasty = true
	o.Measures = []string{"work", "bound", "latency", "horizon"}
	o.Rounds, o.Jobs, o.Singly, o.Probes, o.Offer, o.Steps = 1, 50, 10*time.Millisecond, 5, 50*time.Millisecond, 1
	o.Horizon.For, o.Horizon.Slice, o.Horizon.Backlog, o.Holds = 100*time.Millisecond, 50*time.Millisecond, 1500, rates.Horizons
	var out, log strings.Builder
	if err := Run(t.Context(), o, &out, &log); err != nil {
		t.Fatal(err, "\n", log.String())
	}
	lines := strings.Split(out.String(), "\n")
	for _, line := range []string{"| measure | SQLite | SQLite, NORMAL | PostgreSQL |", "|---|--:|--:|--:|"} {
		if !slices.Contains(lines, line) {
			t.Errorf("report: line %q is missing", line)
		}
	}
	for _, part := range []string{
		" CPUs, ", "fsync=off", "synchronous=FULL", "synchronous=NORMAL",
		"\n| burn-down of 50 jobs, default |", "\n| bare statements, a lease for a batch, one index |", "\n| enqueue to start, idle: p99 |", "to undisturbed | ",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("report: %q is missing", part)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
