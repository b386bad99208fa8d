//go:build linux

// Package monitors measures the cost of many monitors on one node, and the punctuality of their checks. The checked targets
// are served by another process of this machine, so no network counts.
package monitors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	checks "github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/bench/target"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Watch has the parameters of many monitors on one node: the built program with its default settings.
type Watch struct {
	Monitors int
	Every    time.Duration
	Hosts    int           // that they are spread over
	Warm     time.Duration // not counted
	For      time.Duration // a multiple of Every
	Away     time.Duration // the time without a node, at least Every
	Back     time.Duration // the measured time after that, more than Every
}

// Watched has the cost and the punctuality of checks.
type Watched struct {
	Checks      int              // begun in the counted time
	Node        float64          // share of a core
	Server      float64          // the same of PostgreSQL
	Alone       time.Duration    // CPU of the check itself
	Memory      float64          // of the node
	Late        report.Quantiles // from the due time of a check to its start, by its result
	Uneven      report.Quantiles // deviation of the distance between two requests of a monitor from Every
	Least, Most int              // requests in a second
	Astray      int              // checks that were missing, made twice, or failed
	Return      Return
}

// Return has the results after the time without a node.
type Return struct {
	CaughtUp int              // monitors with one check for all missed ones
	Others   int              // monitors with none, or more than one
	After    report.Quantiles // from the readiness of the node to the first request of a monitor
	Most     int              // requests in a second
	Waited   report.Quantiles // from the due time of a caught-up check to its start
	Latency  report.Quantiles // of these checks, without their wait
	Late     report.Quantiles // of the checks that came due since
}

// PerCheck returns the CPU time of the node per check.
func (w Watched) PerCheck(d time.Duration) time.Duration {
	return time.Duration(w.Node * float64(d) / float64(max(w.Checks, 1)))
}

// Run makes the monitors, measures them, stops the node for a while, and measures them again.
func (o Watch) Run(ctx context.Context, s *database.Site, program string) (w Watched, err error) {
	t, err := target.Start(o.Hosts)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return o.save(ctx, st, t) }); err != nil {
		return w, err
	}
	if err := s.Calm(ctx); err != nil {
		return w, err
	}
	left, err := o.steady(ctx, s, t, program, &w)
	if err != nil {
		return w, err
	}
	// The cost of a check by itself is measured without a node.
	if w.Alone, err = o.alone(ctx, t); err != nil {
		return w, err
	}
	process.Pause(ctx, time.Until(left.Add(o.Away)))
	return w, o.again(ctx, s, t, program, left, &w.Return)
}

// Check returns the monitor with this number.
func Check(t *target.Target, i int, every time.Duration) monitor.Monitor {
	return monitor.Monitor{
		Name: fmt.Sprintf("m-%05d", i), Every: core.Duration(every),
		Check: task.Task{Kind: task.KindHTTP, HTTP: &task.HTTP{URL: t.URL(i)}},
	}
}

func (o Watch) save(ctx context.Context, st *store.Store, t *target.Target) error {
	var all []monitor.Monitor
	for i := range o.Monitors {
		all = append(all, Check(t, i, o.Every))
	}
	for some := range slices.Chunk(all, 1000) {
		if _, err := st.Apply(ctx, view.Manifest{Monitors: some}, view.ApplyOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// steady measures the time before the node is stopped. It returns the time at which the node was gone.
func (o Watch) steady(ctx context.Context, s *database.Site, t *target.Target, program string, w *Watched) (left time.Time, err error) {
	node, err := node.Serve(s, program, "--allow-addresses", "loopback")
	if err != nil {
		return left, err
	}
	defer node.Kill()
	from := time.Now().Add(o.Warm)
	to := from.Add(o.For)
	if w.Node, w.Server, err = s.Shares(ctx, node.Process, from, to); err != nil {
		return left, err
	}
	memory, err := node.Memory()
	if err != nil {
		return left, err
	}
	w.Memory = float64(memory)
	process.Pause(ctx, 2*time.Second) // lets due checks begin
	if err := errors.Join(node.Stop(), ctx.Err()); err != nil {
		return left, err
	}
	left = time.Now()
	seen, err := t.Seen(ctx)
	if err != nil {
		return left, err
	}
	seen = slices.DeleteFunc(seen, func(a target.Arrival) bool { return a.At().Before(from) || !a.At().Before(to) })
	w.Checks = len(seen)
	w.Uneven = report.QuantilesOf(target.Uneven(seen, o.Every))
	w.Least, w.Most = target.Seconds(seen, from, to)
	checks, err := results(ctx, s, from, to)
	w.Late = report.QuantilesOf(delays(checks))
	w.Astray = o.astray(checks)
	return left, err
}

// astray counts the deviations of the results from the expected checks.
func (o Watch) astray(all []result) (n int) {
	times := map[int64]int{}
	for _, r := range all {
		times[r.monitor]++
		if r.outcome != task.CheckOK {
			n++
		}
	}
	want := int(o.For / o.Every)
	for _, got := range times {
		n += max(got-want, want-got)
	}
	return n + want*(o.Monitors-len(times))
}

// alone requests the target as often as the monitors, and does nothing else.
func (o Watch) alone(ctx context.Context, t *target.Target) (time.Duration, error) {
	allow, err := guard.ParseAllow([]string{"loopback"})
	if err != nil {
		return 0, err
	}
	e := checks.New(checks.Options{Guard: guard.Options{Allow: allow}})
	defer e.Close()
	before, err := process.OwnCPU()
	if err != nil {
		return 0, err
	}
	rate := float64(o.Monitors) / o.Every.Seconds()
	begun, made := time.Now(), 0
	var looks sync.WaitGroup
	for time.Since(begun) < min(o.Away/2, 30*time.Second) && ctx.Err() == nil {
		for ; made < int(rate*time.Since(begun).Seconds()); made++ {
			looks.Go(func() { e.Check(ctx, Check(t, made, o.Every).Task()) })
		}
		process.Pause(ctx, 50*time.Millisecond) // a node starts due checks in such batches; single ones cost more
	}
	looks.Wait()
	after, err := process.OwnCPU()
	if err != nil {
		return 0, err
	}
	_, err = t.Seen(ctx) // these requests do not count
	return (after - before) / time.Duration(max(made, 1)), err
}

// again starts the node once more.
func (o Watch) again(ctx context.Context, s *database.Site, t *target.Target, program string, left time.Time, r *Return) error {
	begun := time.Now()
	node, err := node.Serve(s, program, "--allow-addresses", "loopback")
	if err != nil {
		return err
	}
	defer node.Kill()
	ready := time.Now()
	end := ready.Add(o.Back)
	process.Pause(ctx, time.Until(end.Add(2*time.Second)))
	if err := errors.Join(node.Stop(), ctx.Err()); err != nil {
		return err
	}
	seen, err := t.Seen(ctx)
	if err != nil {
		return err
	}
	known := map[int64]bool{}
	var after []time.Duration
	for _, a := range seen {
		if !known[a.Monitor] {
			known[a.Monitor] = true
			after = append(after, max(a.At().Sub(ready), 0))
		}
	}
	r.After = report.QuantilesOf(after)
	_, r.Most = target.Seconds(seen, begun, end)
	all, err := results(ctx, s, left, end.Add(time.Second))
	if err != nil {
		return err
	}
	missed := map[int64]int{}
	var since, waited, latency []time.Duration
	for _, one := range all {
		switch due := one.due(); {
		case due.Before(begun):
			missed[one.monitor]++
			waited, latency = append(waited, one.delay), append(latency, one.latency)
		case !due.Before(ready) && due.Before(end):
			since = append(since, one.delay)
		}
	}
	for _, n := range missed {
		if n == 1 {
			r.CaughtUp++
		}
	}
	r.Others = o.Monitors - r.CaughtUp
	r.Waited, r.Latency, r.Late = report.QuantilesOf(waited), report.QuantilesOf(latency), report.QuantilesOf(since)
	return nil
}
