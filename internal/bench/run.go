//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// Options say what is measured, and how long. [Long] and [Short] are complete.
type Options struct {
	Measures  []string // see [Measures]
	Databases []string // see [DatabaseNames]
	Program   string   // a built belfry; empty: build it
	Rounds    int      // of what takes seconds
	Slow      int      // rounds of what takes longer
	Tuned     Tuning

	Jobs     int           // of a burn-down
	Singly   time.Duration // enqueueing one by one
	Probes   int           // of a latency
	Offer    time.Duration // at each rate tried
	Steps    int           // rates tried
	Idle     int           // idle schedules
	Rest     time.Duration // of an idle node
	Firing   Firing
	Running  int             // jobs of the node that is killed
	TTLs     []time.Duration // of its session
	Horizon  Steady
	Holds    []Horizon // the first is what the others are compared with
	Watch    Watch
	Programs Programs
	Past     int // finished jobs in a history
	Days     int // over which they ended
	Now      int // jobs that are burnt beside it

	hasty bool // PostgreSQL without fsync, for tests of the measures themselves
}

// Measures and DatabaseNames are the choices. The last measure starts a hundred processes, and runs when it is asked for.
var (
	Measures      = []string{"work", "bound", "latency", "idle", "firing", "recovery", "horizon", "history", "monitors", "programs"}
	DatabaseNames = []string{"sqlite", "sqlite-normal", "postgres"}
)

// Long is what docs/benchmarks.md shows.
func Long() Options {
	return Options{
		Measures: Measures[:len(Measures)-1], Databases: DatabaseNames, Rounds: 5, Slow: 3, Tuned: Tuning{Slots: 500, Prefetch: 1000},
		Jobs: 100_000, Singly: 5 * time.Second, Probes: 500, Offer: 5 * time.Second, Steps: 6,
		Idle: 1_000_000, Rest: 10 * time.Second,
		Firing:  Firing{PerSecond: 1000, Seconds: 20, Burst: 10_000, Gap: 3 * time.Second, Lead: 20 * time.Second},
		Running: 1000, TTLs: []time.Duration{2 * time.Second, 30 * time.Second},
		Horizon: Steady{For: time.Minute, Slice: 10 * time.Second, Backlog: 5000}, Holds: Horizons,
		Watch:    Watch{Monitors: 10_000, Every: time.Minute, Hosts: 100, Warm: time.Minute, For: 3 * time.Minute, Away: 3 * time.Minute, Back: 90 * time.Second},
		Programs: Programs{Workers: []int{1, 10, 100}, Probes: 300, Gap: 250 * time.Millisecond},
		Past:     10_000_000, Days: 10, Now: 50_000,
	}
}

// Short is for every day: about three minutes on a small machine.
func Short() Options {
	o := Long()
	o.Rounds, o.Slow, o.Jobs, o.Singly = 2, 1, 5000, 500*time.Millisecond
	o.Probes, o.Offer, o.Steps = 100, 500*time.Millisecond, 3
	o.Idle, o.Rest = 100_000, 2*time.Second
	o.Firing.Seconds, o.Firing.Lead = 5, 5*time.Second
	o.TTLs = []time.Duration{belfry.MinSessionTTL.D()}
	o.Horizon.For, o.Horizon.Slice, o.Holds = 10*time.Second, 2*time.Second, Horizons[:2]
	o.Watch.Monitors, o.Watch.Every = 1000, 6*time.Second // the same rate
	o.Watch.Warm, o.Watch.For, o.Watch.Away, o.Watch.Back = 6*time.Second, 12*time.Second, 12*time.Second, 8*time.Second
	o.Programs.Workers, o.Programs.Probes = []int{1, 10}, 40
	o.Past, o.Days, o.Now = 200_000, 2, 5000
	return o
}

// run is a run under way.
type run struct {
	Options
	report Report
	all    []*Database
	whole  []*Database // without those that are only for the core
	pg     *Database
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
	return errors.Join(failed, err, r.report.Markdown(out)) // what there is, whatever failed
}

func (r *run) measure(ctx context.Context) error {
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"work", r.work}, {"bound", r.bound}, {"latency", r.latency}, {"idle", r.idle}, {"firing", r.firing},
		{"recovery", r.recovery}, {"horizon", r.horizon}, {"history", r.history}, {"monitors", r.monitors}, {"programs", r.programs},
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
			d := SQLite("SQLite", r.dir, "FULL")
			r.all, r.whole = append(r.all, d), append(r.whole, d)
		case "sqlite-normal":
			r.all = append(r.all, SQLite("SQLite, NORMAL", r.dir, "NORMAL"))
		case "postgres":
			d, err := StartPostgres(ctx, "PostgreSQL", !r.hasty)
			if err != nil {
				return err
			}
			r.pg = d
			r.all, r.whole = append(r.all, d), append(r.whole, d)
		}
	}
	built := func(measure string) bool {
		return measure == "idle" || measure == "recovery" || measure == "monitors" || measure == "programs"
	}
	if r.Program == "" && slices.ContainsFunc(r.Measures, built) {
		var err error
		r.Program, err = Build(ctx, r.dir)
		return err
	}
	return nil
}

func (r *run) close() error {
	var err error
	if r.pg != nil {
		err = r.pg.Close()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// conditions are what the figures hold for.
func (r *run) conditions(ctx context.Context) ([]string, error) {
	facts := []string{Machine()}
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

// rounds takes every database in turn, as often as there are rounds.
func (r *run) rounds(ctx context.Context, n int, list []*Database, measure func(d *Database) error) error {
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
func (r *run) costs(column, name string, w Work) {
	r.report.Add(column, name, Rate, w.Rate())
	r.report.Add(column, name+": CPU per job, client", Time, w.Per(float64(w.Client)))
	if w.Server > 0 {
		r.report.Add(column, name+": CPU per job, server", Time, w.Per(float64(w.Server)))
	}
	r.report.Add(column, name+": written per job", Bytes, w.Per(float64(w.Written)))
}

// work is measure 1.
func (r *run) work(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.all, func(d *Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			for _, callers := range []int{1, 32} {
				w, err := EnqueueSingly(ctx, s, st, callers, r.Singly)
				if err != nil {
					return err
				}
				r.costs(d.Name, fmt.Sprintf("enqueue one by one, callers: %d", callers), w)
			}
			return nil
		})
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		for _, t := range []struct {
			name string
			Tuning
		}{{"default", Tuning{}}, {"tuned", r.Tuned}} {
			l, err := LiveAndDie(ctx, d, r.Jobs, t.Tuning)
			if err != nil {
				return err
			}
			if t.name == "default" {
				r.costs(d.Name, "enqueue 1,000 in a call", l.Bulk)
			}
			burn := fmt.Sprintf("burn-down of %s jobs, %s", thousands(fmt.Sprint(r.Jobs)), t.name)
			r.costs(d.Name, burn, l.Burn)
			r.report.Add(d.Name, "a life in bulk, "+t.name+": CPU per job, all", Time, l.Burn.Per(float64(l.Burn.CPU()+l.Bulk.CPU())))
			if d.Postgres() {
				r.report.Add(d.Name, "a life in bulk, "+t.name+": dead tuples per job", Plain, l.Dead)
			}
			r.report.Add(d.Name, "a life in bulk, "+t.name+": kept on disk per job", Bytes, l.Kept)
		}
		return nil
	})
}

func (r *run) quantiles(column, name string, q Quantiles) {
	r.report.Add(column, name+": p50", Time, float64(q.P50))
	r.report.Add(column, name+": p99", Time, float64(q.P99))
	r.report.Add(column, name+": max", Time, float64(q.Max))
}

// latency is measure 2.
func (r *run) latency(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.whole, func(d *Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		var full float64 // jobs per second, in and out
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			q, err := Latency(ctx, st, st, r.Probes, 0, Tuning{})
			if err != nil {
				return err
			}
			r.quantiles(d.Name, "enqueue to start, idle", q)
			if d.Postgres() {
				err := s.beside(ctx, func(other *store.Store) error {
					q, err := Latency(ctx, st, other, r.Probes, 0, Tuning{})
					r.quantiles(d.Name, "enqueue to start on another node, idle", q)
					return err
				})
				if err != nil {
					return err
				}
			}
			slices, err := Steady{For: r.Offer, Slice: r.Offer, Backlog: 5000}.Run(ctx, st)
			if err != nil {
				return err
			}
			full = slices[0]
			r.report.Add(d.Name, "enqueue and run at once, as fast as can be", Rate, full)
			return nil
		})
		if err != nil {
			return err
		}
		half, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		err = half.With(ctx, store.Options{}, func(st *store.Store) error {
			q, err := Latency(ctx, st, st, r.Probes, full/2, Tuning{})
			if err == nil {
				r.quantiles(d.Name, "enqueue to start, at half of that rate", q)
			}
			return err
		})
		if err := errors.Join(err, half.Close()); err != nil {
			return err
		}
		rate, err := Sustained(ctx, d, 1.5*full, r.Offer, r.Steps, Tuning{})
		r.report.Add(d.Name, "sustained with p99 under 100 ms", Rate, rate)
		return err
	})
}

// idle is measure 3. It is not repeated.
func (r *run) idle(ctx context.Context) error {
	for _, d := range r.whole {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		w, err := Weigh(ctx, s, r.Program, r.Idle, r.Rest)
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		name := thousands(fmt.Sprint(w.Schedules)) + " idle schedules: "
		r.report.Add(d.Name, name+"on disk, each", Bytes, w.Disk)
		r.report.Add(d.Name, name+"node's memory, each", Bytes, max(w.RSS, 0))
		r.report.Compare(d.Name, name+"node's memory, to none", Bytes, w.Node, w.Base)
		r.report.Add(d.Name, name+"node's CPU, of a core", Percent, w.CPU)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", Percent, w.Server)
		}
		r.say("%s: %s idle schedules saved in %s", d.Name, thousands(fmt.Sprint(w.Schedules)), w.Saved.Round(time.Second))
	}
	return nil
}

// firing is measure 4. The idle schedules are saved once.
func (r *run) firing(ctx context.Context) (err error) {
	sites := map[*Database]*Site{}
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, d := range r.whole {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		sites[d] = s
		if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return Idle(ctx, s, st, r.Idle) }); err != nil {
			return err
		}
		if err := s.Calm(ctx); err != nil {
			return err
		}
	}
	return r.rounds(ctx, r.Slow, r.whole, func(d *Database) error {
		f, err := r.Firing.Run(ctx, sites[d])
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s due each second: ", thousands(fmt.Sprint(r.Firing.PerSecond)))
		r.quantiles(d.Name, name+"nominal time to made", f.Made)
		r.quantiles(d.Name, name+"nominal time to start", f.Began)
		r.report.Add(d.Name, name+"node's CPU, of a core", Percent, f.Node)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", Percent, f.Server)
		}
		name = fmt.Sprintf("%s due at once: ", thousands(fmt.Sprint(r.Firing.Burst)))
		r.report.Add(d.Name, name+"last one made", Time, float64(f.BurstMade.Max))
		r.report.Add(d.Name, name+"half started", Time, float64(f.BurstBegan.P50))
		r.report.Add(d.Name, name+"last one started", Time, float64(f.BurstBegan.Max))
		return nil
	})
}

// recovery is measure 5.
func (r *run) recovery(ctx context.Context) error {
	return r.rounds(ctx, r.Slow, r.whole, func(d *Database) error {
		for _, ttl := range r.TTLs {
			got, err := Recover(ctx, d, r.Program, r.Running, ttl)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("kill -9 with %s jobs, session of %s: ", thousands(fmt.Sprint(r.Running)), ttl)
			r.report.Add(d.Name, name+"first again, beyond the session", Time, float64(got.First-ttl))
			r.report.Add(d.Name, name+"last again, beyond the session", Time, float64(got.Last-ttl))
			r.report.Add(d.Name, name+"first to last", Time, float64(got.Last-got.First))
		}
		return nil
	})
}

// horizon is measure 6. Vacuum is a matter of PostgreSQL.
func (r *run) horizon(ctx context.Context) error {
	if r.pg == nil {
		return nil
	}
	r.Horizon.Tuning = r.Tuned // it is the fastest who leaves most behind
	return r.rounds(ctx, r.Slow, []*Database{r.pg}, func(d *Database) error {
		var calm map[string]float64
		for _, z := range r.Holds {
			rates, err := r.steady(ctx, d, z)
			if err != nil {
				return fmt.Errorf("%s: %w", z.Name, err)
			}
			r.say("%s: %.0f jobs/s in slices of %s", z.Name, rates, r.Horizon.Slice)
			name := fmt.Sprintf("steady for %s, tuned, %s: ", r.Horizon.For, z.Name)
			all := SpreadOf(rates)
			at := map[string]float64{"median slice": all.Median, "worst slice": all.Least, "last slice": rates[len(rates)-1]}
			if calm == nil {
				calm = at
				r.report.Add(d.Name, name+"median slice", Rate, at["median slice"])
			} else {
				for _, which := range []string{"median slice", "worst slice", "last slice"} {
					r.report.Compare(d.Name, name+which+", to undisturbed", Rate, at[which], calm[which])
				}
			}
			r.report.Compare(d.Name, name+"last slice, to its first", Rate, at["last slice"], rates[0])
		}
		return nil
	})
}

// steady works in a fresh database while somebody else does what z says.
func (r *run) steady(ctx context.Context, d *Database, z Horizon) (slices []float64, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return nil, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		return s.Hold(ctx, z, func() error { slices, err = r.Horizon.Run(ctx, st); return err })
	})
	return slices, errors.Join(err, s.Close())
}

// history is measure 7: the same with and without finished jobs, in turns.
func (r *run) history(ctx context.Context) (err error) {
	var sites []*Site
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	pair := map[*Database][]*Site{}
	for _, d := range r.whole {
		for range 2 {
			s, err := d.NewSite(ctx)
			if err != nil {
				return err
			}
			sites, pair[d] = append(sites, s), append(pair[d], s)
		}
		begun := time.Now()
		if err := Fill(ctx, pair[d][1], r.Past, r.Days); err != nil {
			return err
		}
		if err := Fill(ctx, pair[d][0], 0, 1); err != nil { // the samples alone
			return err
		}
		r.say("%s: history of %s jobs in %s", d.Name, thousands(fmt.Sprint(r.Past)), time.Since(begun).Round(time.Second))
	}
	round := 0
	return r.rounds(ctx, r.Slow, r.whole, func(d *Database) error {
		round++
		var both [2]figures
		for k := range 2 {
			side := (k + round/len(r.whole)) % 2
			if both[side], err = r.figures(ctx, pair[d][side]); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("beside %s finished jobs, to none: ", thousands(fmt.Sprint(r.Past)))
		for i, f := range both[1] {
			r.report.Compare(d.Name, name+f.name, f.unit, f.value, both[0][i].value)
		}
		return nil
	})
}

type figures []struct {
	name  string
	unit  Unit
	value float64
}

// figures are what a history might slow down.
func (r *run) figures(ctx context.Context, s *Site) (out figures, err error) {
	add := func(name string, unit Unit, value float64) {
		out = append(out, struct {
			name  string
			unit  Unit
			value float64
		}{name, unit, value})
	}
	err = s.With(ctx, store.Options{Keep: keepAll}, func(st *store.Store) error {
		singly, err := EnqueueSingly(ctx, s, st, 1, r.Singly)
		if err != nil {
			return err
		}
		if _, err := Burn(ctx, s, st, singly.Jobs+1, r.Tuned); err != nil {
			return err
		}
		in, err := EnqueueBulk(ctx, s, st, r.Now)
		if err != nil {
			return err
		}
		burn, err := Burn(ctx, s, st, r.Now, Tuning{})
		if err != nil {
			return err
		}
		if _, err = EnqueueBulk(ctx, s, st, r.Now); err != nil {
			return err
		}
		tuned, err := Burn(ctx, s, st, r.Now, r.Tuned)
		if err != nil {
			return err
		}
		q, err := Latency(ctx, st, st, r.Probes, 0, Tuning{})
		add("enqueue one by one", Rate, singly.Rate())
		add("enqueue 1,000 in a call", Rate, in.Rate())
		add("burn-down, default", Rate, burn.Rate())
		add("burn-down, tuned", Rate, tuned.Rate())
		add("burn-down, tuned, CPU per job", Time, tuned.Per(float64(tuned.CPU())))
		add("enqueue to start, idle, p50", Time, float64(q.P50))
		add("enqueue to start, idle, p99", Time, float64(q.P99))
		return err
	})
	if err != nil {
		return out, err
	}
	f := r.Firing
	f.Seconds, f.Burst, f.Lead = max(f.Seconds/2, 3), 0, f.Lead/2
	fired, err := f.Run(ctx, s)
	add("due to start, p50", Time, float64(fired.Began.P50))
	add("due to start, p99", Time, float64(fired.Began.P99))
	return out, err
}
