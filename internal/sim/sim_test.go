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

	"github.com/belfry-run/belfry/internal/portion"
)

func TestMain(m *testing.M) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		_ = os.Setenv("TMPDIR", "/dev/shm")
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// alone makes a test use one processor. As only one goroutine runs at a time, more processors cost nearly a third of the time.
// The test of repetition uses all processors, to reveal a random order.
func alone(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// bound returns a number that the environment may override.
func bound(name string, otherwise, short float64) float64 {
	if n, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil && n > 0 {
		return n
	}
	if testing.Short() { // for example, under the race detector
		return short
	}
	return otherwise
}

// seedsFrom returns n seeds in a row.
func seedsFrom(first uint64, n float64) (seeds []uint64) {
	for i := range uint64(n) {
		seeds = append(seeds, first+i)
	}
	return seeds
}

// The same seed gives the same run, byte for byte.
func TestSimRepeats(t *testing.T) {
	for _, seed := range portion.Of(t, seedsFrom(0, bound("SIM_REPEATS", 50, 1))) {
		s := scriptOf(seed, time.Minute)
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

// No seed violates a promise. SIM_SEED, SIM_SEEDS and SIM_HOURS set the seeds and the length; SIM_TRACE names a file for
// the trace of one seed.
func TestSimHolds(t *testing.T) {
	alone(t)
	begun, cpu := time.Now(), processorTime()
	seeds := portion.Of(t, seedsFrom(uint64(bound("SIM_SEED", 1, 1)), bound("SIM_SEEDS", 10, 1)))
	length := time.Duration(bound("SIM_HOURS", 1, .05) * float64(time.Hour))
	file := os.Getenv("SIM_TRACE")
	var took time.Duration
	calls, runs := 0, 0
	for _, seed := range seeds {
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
		len(seeds), took.Hours(), calls, runs, time.Since(begun).Round(time.Second), took.Hours()/(processorTime()-cpu).Minutes())
}

// area is a part of the product with its own short and busy runs.
type area struct {
	first  uint64 // first seed
	draw   func(seed uint64, length time.Duration) []step
	choose func(s *script)
}

var areas = map[string]area{
	"limits":    {1000, flowSteps, func(s *script) { s.flow = true }},
	"workflows": {2000, workflowSteps, func(s *script) { s.workflows = true }},
	"steps":     {3000, stepSteps, func(s *script) { s.durables = true; s.lose() }},
	"windows":   {4000, windowSteps, func(s *script) { s.windows = true }},
	"hooks": {5000, func(seed uint64, length time.Duration) []step {
		return append(hookSteps(seed, length), stepSteps(seed, length)...)
	}, func(s *script) { s.hooks, s.durables = true, true }},
	"ageing": {6000, ageingSteps, func(s *script) { s.ageing = true }},
	"shares": {7000, sharedSteps, func(s *script) { s.shared = true }},
	"jobs":   {8000, jobSteps, func(s *script) { s.plans = []int{0, 1, 2, 3, 4, 5, 6, 7}; s.lose() }},
}

// lose adds networks that lose requests and answers, and deliver some requests twice.
func (s *script) lose() {
	for at := 20 * time.Second; at < s.length; at += 20 * time.Second {
		s.faults = append(s.faults, fault{at, "lossy", len(s.faults) % s.nodes, 50 * time.Second})
	}
}

// script returns a short script with as many requests as in an hour, in which a node stops every 20 seconds.
func (a area) script(seed uint64) script {
	s := scriptOf(a.first+seed, 5*time.Minute)
	s.plans, s.steps = nil, nil
	s.flow, s.workflows, s.durables, s.windows, s.hooks, s.ageing, s.shared = false, false, false, false, false, false, false
	a.choose(&s)
	for _, x := range a.draw(s.seed, 12*s.length) {
		x.at /= 12
		s.steps = append(s.steps, x)
	}
	for at := 10 * time.Second; at < s.length; at += 20 * time.Second {
		s.faults = append(s.faults, fault{at, []string{"stop", "crash"}[len(s.faults)%2], len(s.faults) % s.nodes, 5 * time.Second})
	}
	return s
}

// No promise of limits, sequences and turns is violated in short and busy runs. These runs, and those of the other areas,
// find the faults of internal/battery.
func TestSimOfLimits(t *testing.T) { briefly(t, "limits") }

func TestSimOfWorkflows(t *testing.T) { briefly(t, "workflows") }

func TestSimOfSteps(t *testing.T) { briefly(t, "steps") }

// Debounced tasks, quotas and bounds.
func TestSimOfWindows(t *testing.T) { briefly(t, "windows") }

func TestSimOfHooks(t *testing.T) { briefly(t, "hooks") }

func TestSimOfAgeing(t *testing.T) { briefly(t, "ageing") }

// Limits of namespaces and queues, with rates.
func TestSimOfShares(t *testing.T) { briefly(t, "shares") }

// briefly simulates some short scripts of one area.
func briefly(t *testing.T, name string) {
	t.Helper()
	alone(t)
	for _, seed := range portion.Of(t, seedsFrom(0, bound("SIM_SHORT", 6, 1))) {
		if r := simulate(t, areas[name].script(seed), nil, false); len(r.wrong) > 0 {
			t.Fatalf("seed %d:\n%s", areas[name].first+seed, strings.Join(r.wrong, "\n"))
		}
	}
}

// Each planted fault is found by the scripts of its area, within its number of seeds.
func TestSimFindsPlants(t *testing.T) {
	alone(t)
	for _, p := range portion.Of(t, plants[:int(bound("SIM_PLANTS", float64(len(plants)), 1))]) {
		t.Run(p.name, func(t *testing.T) { findsPlant(t, &p) })
	}
}

func findsPlant(t *testing.T, p *plant) {
	begun := time.Now()
	for seed := uint64(1); seed <= p.seeds; seed++ {
		for _, wrong := range simulate(t, areas[p.area].script(seed), p, false).wrong {
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

// A script that violates a promise is shrunk to the necessary parts.
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
		runs = 5 // more runs only make it shorter
	}
	short := shrink(t, s, p, promise, runs)
	if !testing.Short() && (len(short.faults) > 0 || len(short.plans) > 0 || len(short.steps) > 2) {
		t.Errorf("want two enqueues and nothing else:\n%s", short)
	}
	t.Logf("%s\n%s", promise, short)
}
