package sim

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		_ = os.Setenv("TMPDIR", "/dev/shm")
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// alone has a test use one processor. Where one goroutine runs at a time, others only cost: nearly a third of the time. The test of
// repetition uses them all, because an order that they leave to chance shows there.
func alone(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// bound is a number that the environment may change.
func bound(name string, otherwise, short float64) float64 {
	if n, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil && n > 0 {
		return n
	}
	if testing.Short() { // under the race detector, say
		return short
	}
	return otherwise
}

// The same seed gives the same run, byte for byte.
func TestSimRepeats(t *testing.T) {
	for seed := range uint64(bound("SIM_REPEATS", 50, 1)) {
		s := scriptOf(seed, 2*time.Minute)
		a, b := simulate(t, s, nil, true), simulate(t, s, nil, true)
		if a.hash == b.hash && slices.Equal(a.lines, b.lines) {
			continue
		}
		for i := range a.lines {
			if i >= len(b.lines) || a.lines[i] != b.lines[i] {
				t.Errorf("seed %d: two runs part at line %d:\n%s\n\n%s", seed, i, excerpt(a.lines, i), excerpt(b.lines, i))
				break
			}
		}
	}
}

func excerpt(lines []string, at int) string {
	return strings.Join(lines[min(max(0, at-5), len(lines)):min(at+5, len(lines))], "\n")
}

// No promise is broken, whatever a seed draws. SIM_SEED, SIM_SEEDS and SIM_HOURS bound it; SIM_TRACE names a file for the
// trace of one seed.
func TestSimHolds(t *testing.T) {
	alone(t)
	begun, cpu := time.Now(), processorTime()
	first, seeds := uint64(bound("SIM_SEED", 1, 1)), uint64(bound("SIM_SEEDS", 10, 1))
	length := time.Duration(bound("SIM_HOURS", 1, .05) * float64(time.Hour))
	file := os.Getenv("SIM_TRACE")
	var took time.Duration
	calls, runs := 0, 0
	for seed := first; seed < first+seeds; seed++ {
		s := scriptOf(seed, length)
		r := simulate(t, s, nil, file != "")
		took, calls, runs = took+r.took, calls+r.passed, runs+r.runs
		if file != "" {
			if err := os.WriteFile(file, []byte(strings.Join(r.lines, "\n")), 0o600); err != nil {
				t.Error(err)
			}
		}
		if len(r.wrong) > 0 {
			promise, _, _ := strings.Cut(r.wrong[0], " (at ")
			short := shrink(t, s, nil, promise, 100)
			t.Errorf("seed %d:\n%s\nthe shortest script that still breaks it:\n%s\nrun it again: make sim SIM_SEED=%d SIM_SEEDS=1 SIM_HOURS=%g SIM_TRACE=trace.txt",
				seed, strings.Join(r.wrong, "\n"), short, seed, length.Hours())
		}
	}
	t.Logf("%d seeds, %.1f simulated hours: %d transactions, %d runs of handlers, in %s; %.0f hours per minute of CPU",
		seeds, took.Hours(), calls, runs, time.Since(begun).Round(time.Second), took.Hours()/(processorTime()-cpu).Minutes())
}

// No promise of limits, sequences and turns is broken in some short and busy runs. The faults of internal/battery are found
// by these.
func TestSimOfLimits(t *testing.T) {
	briefly(t, 1000, flowSteps, func(s *script) { s.flow = true })
}

// No promise of workflows is broken in some short and busy runs. The faults of internal/battery are found by these.
func TestSimOfWorkflows(t *testing.T) {
	briefly(t, 2000, workflowSteps, func(s *script) { s.workflows = true })
}

// No promise of steps and waits is broken in some short and busy runs. The faults of internal/battery are found by these.
func TestSimOfSteps(t *testing.T) {
	briefly(t, 3000, stepSteps, func(s *script) {
		s.durables = true
		for at := 20 * time.Second; at < s.length; at += 20 * time.Second { // requests that come twice
			s.faults = append(s.faults, fault{at, "lossy", len(s.faults) % s.nodes, 50 * time.Second})
		}
	})
}

// No promise of debounced tasks, quotas and bounds is broken in some short and busy runs. The faults of internal/battery are
// found by these.
func TestSimOfWindows(t *testing.T) {
	briefly(t, 4000, windowSteps, func(s *script) { s.windows = true })
}

// No promise of hooks is broken in some short and busy runs. The faults of internal/battery are found by these.
func TestSimOfHooks(t *testing.T) {
	draw := func(seed uint64, length time.Duration) []step {
		return append(hookSteps(seed, length), stepSteps(seed, length)...)
	}
	briefly(t, 5000, draw, func(s *script) { s.hooks, s.durables = true, true })
}

// briefly simulates some short scripts of one part, in which users ask as much as in an hour.
func briefly(t *testing.T, first uint64, draw func(seed uint64, length time.Duration) []step, choose func(s *script)) {
	t.Helper()
	alone(t)
	for seed := first; seed < first+uint64(bound("SIM_SHORT", 6, 1)); seed++ {
		s := scriptOf(seed, 5*time.Minute)
		s.plans, s.steps = nil, nil
		choose(&s)
		for _, x := range draw(seed, 12*s.length) {
			x.at /= 12
			s.steps = append(s.steps, x)
		}
		holdsBriefly(t, s)
	}
}

// holdsBriefly simulates a script that stops one node or another every 20 seconds.
func holdsBriefly(t *testing.T, s script) {
	t.Helper()
	for at := 10 * time.Second; at < s.length; at += 20 * time.Second {
		s.faults = append(s.faults, fault{at, []string{"stop", "crash"}[len(s.faults)%2], len(s.faults) % s.nodes, 5 * time.Second})
	}
	if r := simulate(t, s, nil, false); len(r.wrong) > 0 {
		t.Fatalf("seed %d:\n%s", s.seed, strings.Join(r.wrong, "\n"))
	}
}

// Each fault that is planted is found, by no more seeds than its name has here, and the script that shows it is shrunk.
func TestSimFindsPlants(t *testing.T) {
	alone(t)
	for i := range plants[:int(bound("SIM_PLANTS", float64(len(plants)), 1))] {
		t.Run(plants[i].name, func(t *testing.T) { findsPlant(t, &plants[i]) })
	}
}

func findsPlant(t *testing.T, p *plant) {
	begun := time.Now()
	for seed := uint64(1); seed <= p.seeds; seed++ {
		for _, wrong := range simulate(t, scriptOf(seed, 20*time.Minute), p, false).wrong {
			if strings.HasPrefix(wrong, itself) {
				t.Error(wrong)
				continue
			}
			t.Logf("found by seed %d, in %s\n%s", seed, time.Since(begun).Round(time.Millisecond), wrong)
			return
		}
	}
	t.Error("not found")
}

// A script that breaks a promise is shrunk to what it takes.
func TestSimShrinks(t *testing.T) {
	alone(t)
	p := &plants[1]
	s := scriptOf(1, 10*time.Minute)
	r := simulate(t, s, p, false)
	if len(r.wrong) == 0 {
		t.Fatal("the planted fault is not found")
	}
	promise, _, _ := strings.Cut(r.wrong[0], " (at ")
	runs := 150
	if testing.Short() {
		runs = 5 // which only make it shorter
	}
	short := shrink(t, s, p, promise, runs)
	if !testing.Short() && (len(short.faults) > 0 || len(short.plans) > 0 || len(short.steps) > 2) {
		t.Errorf("want two enqueues and nothing else:\n%s", short)
	}
	t.Logf("%s\n%s", promise, short)
}
