//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/bench/load"
)

// sizes has the sizes of measures.
type sizes struct {
	rounds      int
	jobs        map[bool]int // of a burn-down; key: on a server
	both        int          // most jobs of an end-to-end run
	insertFor   time.Duration
	bothFor     time.Duration
	idleFor     time.Duration
	halfFor     time.Duration
	steps       int // of the search for the sustained rate
	stepFor     time.Duration
	patience    time.Duration // for the last job of an offered load
	phaseAtMost time.Duration
}

var (
	long = sizes{
		rounds: 3, jobs: map[bool]int{true: 100_000, false: 20_000}, both: 20_000,
		insertFor: 3 * time.Second, bothFor: 5 * time.Second, idleFor: 5 * time.Second, halfFor: 5 * time.Second,
		steps: 6, stepFor: 2 * time.Second, patience: 10 * time.Second, phaseAtMost: 10 * time.Minute,
	}
	short = sizes{
		rounds: 1, jobs: map[bool]int{true: 2_000, false: 1_000}, both: 1_000,
		insertFor: 300 * time.Millisecond, bothFor: 500 * time.Millisecond, idleFor: time.Second, halfFor: time.Second,
		steps: 4, stepFor: 500 * time.Millisecond, patience: 3 * time.Second, phaseAtMost: 2 * time.Minute,
	}
)

const (
	bulk        = 1000 // jobs in a bulk call
	halfAtMost  = 5000 // jobs per second at "50 % load"
	underP99    = 100 * time.Millisecond
	offerAtMost = 200_000 // jobs per second
)

// phase is a part of a turn that starts from an empty database.
type phase struct {
	name  string
	run   func(t *turn) error
	brief []string // measures to show during the run
}

var phases = []phase{
	{"enqueue", (*turn).enqueue, []string{"enqueue/1", "enqueue/32", "enqueue/fast"}},
	{"burn-down", (*turn).burnDown, []string{"burn/settled", "burn/cpu"}},
	{"end to end", (*turn).endToEnd, []string{"both/32", "both/fast"}},
	{"idle", (*turn).idle, []string{"idle/p50", "idle/p99"}},
	{"load", (*turn).load, []string{"half/p99", "sustained/rate"}},
}

// turn is the turn of one contender in one round.
type turn struct {
	sizes
	ctx  context.Context
	seat *seat
	c    contender
	to   samples
}

// take measures one phase, on an empty database.
func (p phase) take(ctx context.Context, s *site, size sizes, c contender, to samples) (err error) {
	ctx, cancel := context.WithTimeout(ctx, size.phaseAtMost)
	defer cancel()
	runtime.GC() // no peer pays for the memory or the disk writes of another
	syscall.Sync()
	at, err := c.open(ctx, s)
	if err != nil {
		return fmt.Errorf("%s: open: %w", p.name, err)
	}
	defer func() { err = errors.Join(err, at.Driver.Close(), at.close()) }()
	t := &turn{size, ctx, at, c, to}
	if err := t.tidy(); err != nil {
		return err
	}
	if err := p.run(t); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func (t *turn) tidy() error {
	if t.seat.db == nil {
		return nil
	}
	return t.seat.db.tidy(t.ctx)
}

func (t *turn) add(measure string, v float64) { t.to.add(t.c.name, measure, v) }

func (t *turn) burnJobs() int { return t.jobs[t.c.class == servers] }

func (t *turn) enqueue() error {
	for _, m := range []struct {
		measure string
		in      load.Insert
	}{
		{"enqueue/1", load.Insert{Callers: 1, Batch: 1}},
		{"enqueue/32", load.Insert{Callers: 32, Batch: 1}},
		{"enqueue/bulk", load.Insert{Callers: 1, Batch: bulk}},
		{"enqueue/fast", load.Insert{Callers: 1, Batch: bulk, Fast: true}},
	} {
		m.in.Jobs, m.in.For = max(t.burnJobs(), bulk), t.insertFor
		done, err := t.seat.Insert(t.ctx, m.in)
		if err != nil {
			return err
		}
		t.add(m.measure, done.PerSecond())
	}
	return nil
}

func (t *turn) burnDown() error {
	if _, err := t.seat.Insert(t.ctx, load.Insert{Jobs: t.burnJobs(), Callers: 1, Batch: bulk, Fast: true}); err != nil {
		return err
	}
	if err := t.tidy(); err != nil {
		return err
	}
	before, err := t.costs()
	if err != nil {
		return err
	}
	burnt, err := t.seat.BurnDown(t.ctx)
	if err != nil {
		return err
	}
	after, err := t.costs()
	if err != nil {
		return err
	}
	jobs := float64(burnt.Jobs)
	t.add("burn/settled", jobs/burnt.Settled.Seconds())
	t.add("burn/started", jobs/burnt.Started.Seconds())
	t.add("burn/client", (after.client-before.client)/jobs)
	t.add("burn/cpu", (after.client-before.client+after.server-before.server)/jobs)
	if t.seat.server != nil {
		t.add("burn/server", (after.server-before.server)/jobs)
	}
	if err := t.seat.Stop(t.ctx); err != nil || t.seat.db == nil {
		return err
	}
	t.add("burn/wal", (after.wal-before.wal)/jobs)
	// The driver closes first: PostgreSQL gets the counts of dead rows when the connections end.
	if err := t.seat.Driver.Close(); err != nil {
		return err
	}
	t.seat.Driver = closed{}
	dead, err := t.seat.db.dead(t.ctx)
	t.add("burn/dead", dead)
	return err
}

// closed replaces a driver that was closed early.
type closed struct{ load.Driver }

func (closed) Close() error { return nil }

// costs has running sums: µs of CPU, bytes of log.
type costs struct{ client, server, wal float64 }

func (t *turn) costs() (c costs, err error) {
	client, err := clientCPU(t.seat.Driver)
	if err != nil {
		return c, err
	}
	c.client = float64(client.Microseconds())
	if t.seat.server != nil {
		server, err := t.seat.server()
		if err != nil {
			return c, err
		}
		c.server = float64(server.Microseconds())
	}
	if t.seat.db != nil {
		c.wal, err = t.seat.db.server.wal(t.ctx)
	}
	return c, err
}

func (t *turn) endToEnd() error {
	for _, m := range []struct {
		measure string
		in      load.Insert
	}{
		{"both/32", load.Insert{Callers: 32, Batch: 1}},
		{"both/fast", load.Insert{Callers: 1, Batch: bulk, Fast: true}},
	} {
		m.in.Jobs, m.in.For = min(t.both, t.burnJobs()), t.bothFor
		done, err := t.seat.EndToEnd(t.ctx, m.in)
		if err != nil {
			return err
		}
		t.add(m.measure, done.PerSecond())
	}
	return nil
}

// warm starts a worker and gives it a few jobs, which create plans, connections and
// tasks.
func (t *turn) warm() error {
	if err := t.seat.Start(t.ctx); err != nil {
		return err
	}
	_, err := t.seat.Offer(t.ctx, load.Offer{Rate: 50, For: t.idleFor / 4, Callers: 4, Patience: t.patience})
	return err
}

func (t *turn) idle() error {
	if err := t.warm(); err != nil {
		return err
	}
	idle, err := t.seat.Offer(t.ctx, load.Offer{Rate: 50, For: t.idleFor, Callers: 4, Jitter: true, Patience: t.patience})
	if err != nil {
		return err
	}
	t.addLatency("idle", idle)
	return nil
}

func (t *turn) load() error {
	if err := t.warm(); err != nil {
		return err
	}
	burn, both := t.to.last(t.c.name, "burn/settled"), t.to.last(t.c.name, "both/32")
	rate := min(min(burn, both)/2, halfAtMost)
	half, err := t.seat.Offer(t.ctx, load.Offer{Rate: rate, For: t.halfFor, Callers: 32, Jitter: true, Patience: t.patience})
	if err != nil {
		return err
	}
	t.addLatency("half", half)
	t.add("half/rate", rate)
	return t.sustained(burn / 2)
}

func (t *turn) addLatency(name string, o load.Offered) {
	p50, p99, most := float64(o.FromCall.P50), float64(o.FromCall.P99), float64(o.FromCall.Max)
	if o.Missing > 0 { // these jobs took longer than the wait
		p99, most = math.Inf(1), math.Inf(1)
	}
	t.add(name+"/p50", p50)
	t.add(name+"/p99", p99)
	t.add(name+"/max", most)
}

// sustained searches the highest rate that holds, in steps between the highest that
// held and the lowest that did not.
func (t *turn) sustained(first float64) error {
	holds, breaks := 0.0, math.Inf(1)
	for rate, step := max(20, first), 0; step < t.steps && rate < offerAtMost; step++ {
		o, err := t.seat.Offer(t.ctx, load.Offer{Rate: rate, For: t.stepFor, Callers: 4, Gap: 5 * time.Millisecond, Patience: t.patience})
		if err != nil {
			return err
		}
		switch {
		case o.Missing == 0 && o.FromDue.P99 < underP99:
			holds = rate
		default:
			breaks = rate
		}
		if o.Missing > 0 {
			break // the remaining jobs would disturb the next step
		}
		rate = nextRate(holds, breaks)
	}
	t.add("sustained/rate", holds)
	return nil
}

func nextRate(holds, breaks float64) float64 {
	switch {
	case math.IsInf(breaks, 1):
		return holds * 1.6
	case holds == 0:
		return breaks / 2
	}
	return math.Sqrt(holds * breaks)
}
