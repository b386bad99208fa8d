//go:build linux

// Package monitors is what many monitors on one node cost, and whether they keep their times.
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

// Watch is many monitors on one node: the built program with its default settings.
type Watch struct {
	Monitors int
	Every    time.Duration
	Hosts    int           // that they are spread over
	Warm     time.Duration // before anything is counted
	For      time.Duration // a multiple of Every
	Away     time.Duration // how long the node is stopped, at least Every
	Back     time.Duration // how long it is watched after that, more than Every
}

// Watched is what they cost and whether they kept their times.
type Watched struct {
	Checks      int              // begun while it was counted
	Node        float64          // share of a core
	Server      float64          // the same of PostgreSQL
	Alone       time.Duration    // CPU of a check and nothing else
	Memory      float64          // of the node
	Late        report.Quantiles // from the time of a check to its start, as its result says
	Uneven      report.Quantiles // how far the distance of two requests of a monitor was from Every
	Least, Most int              // requests in a second
	Astray      int              // checks that were due and not made, or made twice, or not good
	Return      Return
}

// Return is what came of a time in which no node was there.
type Return struct {
	CaughtUp int              // monitors that were checked once for all that they missed
	Others   int              // those that were not, or more than once
	After    report.Quantiles // from when the node was ready to the first request of a monitor
	Most     int              // requests in a second
	Waited   report.Quantiles // from the time of a check that was made up for to its start
	Latency  report.Quantiles // of these checks, which their waiting is no part of
	Late     report.Quantiles // of the checks that came due since
}

// PerCheck is the node's CPU of one check.
func (w Watched) PerCheck(d time.Duration) time.Duration {
	return time.Duration(w.Node * float64(d) / float64(max(w.Checks, 1)))
}

// Run makes the monitors and watches them, stops the node for a while, and watches them again.
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
	// What a check costs by itself is measured while no node is there.
	if w.Alone, err = o.alone(ctx, t); err != nil {
		return w, err
	}
	process.Pause(ctx, time.Until(left.Add(o.Away)))
	return w, o.again(ctx, s, t, program, left, &w.Return)
}

// Check is the monitor with this number.
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

// steady answers when the node was gone.
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
	process.Pause(ctx, 2*time.Second) // what was due may begin
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

// astray counts how far the results are from what was to come.
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

// alone looks at the target as often as the monitors do, and does nothing besides.
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
		process.Pause(ctx, 50*time.Millisecond) // a node starts what came due in such batches; singly they are dearer
	}
	looks.Wait()
	after, err := process.OwnCPU()
	if err != nil {
		return 0, err
	}
	_, err = t.Seen(ctx) // these do not count
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
