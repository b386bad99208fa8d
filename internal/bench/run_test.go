//go:build linux

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSchedulesThatComeDueAreAllHeardOf(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Site) {
		t.Parallel()
		f := Firing{PerSecond: 3, Seconds: 2, Burst: 5, Gap: time.Second, Lead: 2 * time.Second}
		out, err := f.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][2]int{
			"made": {out.Made.N, 6}, "began": {out.Began.N, 6}, "made at once": {out.BurstMade.N, 5}, "began at once": {out.BurstBegan.N, 5},
		} {
			if got[0] != got[1] {
				t.Errorf("%d of %d %s", got[0], got[1], name)
			}
		}
		if out.Made.P50 < 0 || out.Began.P50 < out.Made.P50 {
			t.Errorf("%+v", out)
		}
		if left := rows(t, s, open(t, s))["schedules"]; left != 0 {
			t.Errorf("%d schedules are left", left)
		}
	})
}

func TestTheShortestRunMakesADocument(t *testing.T) {
	o := Short()
	o.hasty = true
	o.Measures = []string{"work", "bound", "latency", "horizon"}
	o.Rounds, o.Jobs, o.Singly, o.Probes, o.Offer, o.Steps = 1, 50, 10*time.Millisecond, 5, 50*time.Millisecond, 1
	o.Horizon.For, o.Horizon.Slice, o.Horizon.Backlog, o.Holds = 100*time.Millisecond, 50*time.Millisecond, 1500, Horizons
	var out, log strings.Builder
	if err := Run(t.Context(), o, &out, &log); err != nil {
		t.Fatal(err, "\n", log.String())
	}
	lines := strings.Split(out.String(), "\n")
	for _, line := range []string{"| measure | SQLite | SQLite, NORMAL | PostgreSQL |", "|---|--:|--:|--:|"} {
		if !slices.Contains(lines, line) {
			t.Errorf("no line %q", line)
		}
	}
	for _, part := range []string{
		" CPUs, ", "fsync=off", "synchronous=FULL", "synchronous=NORMAL",
		"\n| burn-down of 50 jobs, default |", "\n| bare statements, a lease for a batch, one index |", "\n| enqueue to start, idle: p99 |", "to undisturbed | ",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q", part)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
