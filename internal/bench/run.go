//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/monitors"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/programs"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/bench/schedules"
	"github.com/belfry-run/belfry/job"
)

// Options has the measures and their sizes. [Long] and [Short] are complete options.
type Options struct {
	Measures  []string // see [Measures]
	Databases []string // see [DatabaseNames]
	Program   string   // a built belfry; empty: build it
	Rounds    int      // of measures that take seconds
	Slow      int      // rounds of slow measures
	Tuned     node.Tuning

	Jobs     int           // of a burn-down
	Singly   time.Duration // enqueueing one by one
	Probes   int           // of a latency
	Offer    time.Duration // at each rate tried
	Steps    int           // rates tried
	Idle     int           // idle schedules
	Rest     time.Duration // of an idle node
	Firing   schedules.Firing
	Running  int             // jobs of the node that is killed
	TTLs     []time.Duration // of its session
	Horizon  rates.Steady
	Holds    []rates.Horizon // the others are compared with the first
	Watch    monitors.Watch
	Programs programs.Options
	Past     int // finished jobs in a history
	Days     int // over which they ended
	Now      int // jobs of the burn-down beside the history
	Fan      rates.Fan
	Asleep   int // workflows
	Keys     int // of a limit

	hasty bool // PostgreSQL without fsync, for tests of the measures themselves
}

// Measures and DatabaseNames are the choices. The last measure starts a hundred processes, and runs only on request.
var (
	Measures      = []string{"work", "bound", "latency", "idle", "firing", "recovery", "horizon", "history", "monitors", "workflows", "callers", "limits", "noisy", "programs"}
	DatabaseNames = []string{"sqlite", "sqlite-normal", "postgres"}
)

// Long has the options of docs/benchmarks.md.
func Long() Options {
	return Options{
		Measures: Measures[:len(Measures)-1], Databases: DatabaseNames, Rounds: 5, Slow: 3, Tuned: node.Tuning{Slots: 500, Prefetch: 1000},
		Jobs: 100_000, Singly: 5 * time.Second, Probes: 500, Offer: 5 * time.Second, Steps: 6,
		Idle: 1_000_000, Rest: 10 * time.Second,
		Firing:  schedules.Firing{PerSecond: 1000, Seconds: 20, Burst: 10_000, Gap: 3 * time.Second, Lead: 20 * time.Second},
		Running: 1000, TTLs: []time.Duration{2 * time.Second, 30 * time.Second},
		Horizon: rates.Steady{For: time.Minute, Slice: 10 * time.Second, Backlog: 5000}, Holds: rates.Horizons,
		Watch:    monitors.Watch{Monitors: 10_000, Every: time.Minute, Hosts: 100, Warm: time.Minute, For: 3 * time.Minute, Away: 3 * time.Minute, Back: 90 * time.Second},
		Programs: programs.Options{Workers: []int{1, 10, 100}, Probes: 300, Lines: 10, Ahead: 500 * time.Millisecond},
		Past:     10_000_000, Days: 10, Now: 50_000,
		Fan: rates.Fan{Steps: 1000, Runs: 20}, Asleep: 10_000, Keys: 10_000,
	}
}

// Short has the options for daily use: about three minutes on a small machine.
func Short() Options {
	o := Long()
	o.Rounds, o.Slow, o.Jobs, o.Singly = 2, 1, 5000, 500*time.Millisecond
	o.Probes, o.Offer, o.Steps = 100, 500*time.Millisecond, 3
	o.Idle, o.Rest = 100_000, 2*time.Second
	o.Firing.Seconds, o.Firing.Lead = 5, 5*time.Second
	o.TTLs = []time.Duration{job.MinSessionTTL.D()}
	o.Horizon.For, o.Horizon.Slice, o.Holds = 10*time.Second, 2*time.Second, rates.Horizons[:2]
	o.Watch.Monitors, o.Watch.Every = 1000, 6*time.Second // the same rate
	o.Watch.Warm, o.Watch.For, o.Watch.Away, o.Watch.Back = 6*time.Second, 12*time.Second, 12*time.Second, 8*time.Second
	o.Programs.Workers, o.Programs.Probes = []int{1, 10}, 40
	o.Past, o.Days, o.Now = 200_000, 2, 5000
	o.Fan.Runs, o.Asleep, o.Keys = 3, 1000, 1000
	return o
}

// run is the state of a run.
type run struct {
	Options
	report report.Report
	all    []*database.Database
	whole  []*database.Database // without databases that measure only the core
	pg     *database.Database
	dir    string
	log    io.Writer
}

// Run measures and writes one document. Progress goes to log.
func Run(ctx context.Context, o Options, out, log io.Writer) (err error) {
	begun := time.Now()
	dir, err := os.MkdirTemp("", "belfry-bench-")
	if err != nil {
		return err
	}
	r := &run{Options: o, dir: dir, log: log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return err
	}
	conditions, err := r.conditions(ctx)
	if err != nil {
		return err
	}
	failed := r.measure(ctx)
	lines := append(conditions, fmt.Sprintf("- %d rounds (%d of what takes long) in %s; a figure is the median, with the least and the greatest, and a comparison begins with the ratio",
		o.Rounds, o.Slow, time.Since(begun).Round(time.Second)))
	_, err = fmt.Fprintf(out, "%s\n\n", strings.Join(lines, "\n"))
	return errors.Join(failed, err, r.report.Markdown(out)) // writes all figures, even after a failure
}

func (r *run) measure(ctx context.Context) error {
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"work", r.work}, {"bound", r.bound}, {"latency", r.latency}, {"idle", r.idle}, {"firing", r.firing},
		{"recovery", r.recovery}, {"horizon", r.horizon}, {"history", r.history}, {"monitors", r.monitors}, {"workflows", r.workflows}, {"callers", r.callers}, {"limits", r.limits}, {"noisy", r.noisy}, {"programs", r.programs},
	} {
		if !slices.Contains(r.Measures, m.name) {
			continue
		}
		since := time.Now()
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r.say("%s took %s", m.name, time.Since(since).Round(100*time.Millisecond))
	}
	return nil
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func (r *run) open(ctx context.Context) error {
	for _, name := range r.Databases {
		switch name {
		case "sqlite":
			d := database.SQLite("SQLite", r.dir, "FULL")
			r.all, r.whole = append(r.all, d), append(r.whole, d)
		case "sqlite-normal":
			r.all = append(r.all, database.SQLite("SQLite, NORMAL", r.dir, "NORMAL"))
		case "postgres":
			d, err := database.StartPostgres(ctx, "PostgreSQL", !r.hasty)
			if err != nil {
				return err
			}
			r.pg = d
			r.all, r.whole = append(r.all, d), append(r.whole, d)
		}
	}
	built := func(measure string) bool {
		return measure == "idle" || measure == "recovery" || measure == "monitors" || measure == "programs" || measure == "callers"
	}
	var err error
	switch {
	case r.Program != "": // processes run in folders of their own
		r.Program, err = filepath.Abs(r.Program)
	case slices.ContainsFunc(r.Measures, built):
		r.Program, err = process.Build(ctx, r.dir)
	}
	return err
}

func (r *run) close() error {
	var err error
	if r.pg != nil {
		err = r.pg.Close()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// conditions collects the conditions of the figures.
func (r *run) conditions(ctx context.Context) ([]string, error) {
	facts := []string{process.Machine()}
	if version, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		facts = append(facts, "belfry "+strings.TrimSpace(string(version)))
	}
	lines := []string{"- " + strings.Join(facts, ", ")}
	for _, d := range r.all {
		line, err := d.Conditions(ctx)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "- "+line)
	}
	return append(lines, fmt.Sprintf("- tuned: %d slots, %d prefetched; everything else, and all that is not called tuned, by default", r.Tuned.Slots, r.Tuned.Prefetch)), nil
}

// rounds runs a measure on every database in turn, once a round.
func (r *run) rounds(ctx context.Context, n int, list []*database.Database, measure func(d *database.Database) error) error {
	for i := range n {
		for k := range list {
			d := list[(i+k)%len(list)]
			if err := measure(d); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		r.say("round %d of %d", i+1, n)
	}
	return nil
}

// costs adds the rate and the costs of one job.
func (r *run) costs(column, name string, w rates.Work) {
	r.report.Add(column, name, report.Rate, w.Rate())
	r.report.Add(column, name+": CPU per job, client", report.Time, w.Per(float64(w.Client)))
	if w.Server > 0 {
		r.report.Add(column, name+": CPU per job, server", report.Time, w.Per(float64(w.Server)))
	}
	r.report.Add(column, name+": written per job", report.Bytes, w.Per(float64(w.Written)))
}

func (r *run) quantiles(column, name string, q report.Quantiles) {
	r.report.Add(column, name+": p50", report.Time, float64(q.P50))
	r.report.Add(column, name+": p99", report.Time, float64(q.P99))
	r.report.Add(column, name+": max", report.Time, float64(q.Max))
}
