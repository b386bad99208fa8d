//go:build linux

package rates

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// probe is a task whose jobs have the time of their enqueue as input, in nanoseconds of this process.
const probe = "probe"

var epoch = time.Now()

func probes(n int) []job.NewJob {
	asked := json.RawMessage(strconv.FormatInt(int64(time.Since(epoch)), 10))
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		jobs[i] = job.NewJob{Task: probe, Kind: task.KindFunc, Input: asked}
	}
	return jobs
}

// timed is the handler of [probe].
func timed(h *worker.Handlers, to *report.Lags) {
	worker.Handle(h, probe, func(_ context.Context, asked int64) (struct{}, error) {
		to.Add(time.Since(epoch) - time.Duration(asked))
		return struct{}{}, nil
	})
}

// Latency measures the wait of single jobs, from the begin of the call that enqueues a job to the first line of its
// handler: n jobs, one after the other, at random distances. of is the store of the node that runs them, and from the
// store that enqueues: the same, or that of another node. load, if not 0, is jobs per second that keep the node busy.
func Latency(ctx context.Context, of, from *store.Store, n int, load float64, t node.Tuning) (q report.Quantiles, err error) {
	var lags report.Lags
	var h worker.Handlers
	timed(&h, &lags)
	node.Nothing(&h)
	counted := node.NewTally()
	run, err := node.Embed(ctx, of, t, &h, counted)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, run.Stop()) }()
	busy := startLoad(ctx, of, load, database.NewJobs)
	const settle = 20 // the first jobs, which do not count: connections open, statements are prepared
	for i := range n + settle {
		if i == settle {
			lags.Reset()
		}
		if _, err := from.Enqueue(ctx, probes(1)); err != nil {
			return q, errors.Join(err, busy.stop())
		}
		process.Pause(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond))
	}
	if err := busy.stop(); err != nil {
		return q, err
	}
	err = run.Await(ctx, counted, busy.jobs.Load()+int64(n+settle))
	return lags.Quantiles(), err
}

// load is a producer at a fixed rate, independent of its jobs.
type load struct {
	jobs   atomic.Int64
	cancel context.CancelFunc
	ended  chan error
}

// loadStep is the interval at which the producer enqueues the due jobs.
const loadStep = 5 * time.Millisecond

func startLoad(ctx context.Context, st *store.Store, rate float64, jobs func(n int) []job.NewJob) *load {
	l := &load{ended: make(chan error, 1)}
	ctx, l.cancel = context.WithCancel(ctx)
	if rate <= 0 {
		l.ended <- nil
		return l
	}
	go func() { l.ended <- l.produce(ctx, st, rate, jobs) }()
	return l
}

func (l *load) produce(ctx context.Context, st *store.Store, rate float64, jobs func(n int) []job.NewJob) error {
	begun := time.Now()
	again := time.NewTicker(loadStep)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		due := min(int(rate*time.Since(begun).Seconds())-int(l.jobs.Load()), core.MaxBatch)
		if due <= 0 {
			continue
		}
		// A started call continues after the end of ctx, so that its jobs are counted.
		if _, err := st.Enqueue(context.WithoutCancel(ctx), jobs(due)); err != nil {
			return err
		}
		l.jobs.Add(int64(due))
	}
}

func (l *load) stop() error {
	l.cancel()
	return <-l.ended
}

// Offered has the results of jobs that were enqueued at a fixed rate, in small batches.
type Offered struct {
	report.Quantiles
	Rate float64 // of results during the load
}

// Offer enqueues at a rate for a while, and times every job from the begin of its call to its handler.
func Offer(ctx context.Context, st *store.Store, rate float64, d time.Duration, t node.Tuning) (o Offered, err error) {
	var lags report.Lags
	var h worker.Handlers
	timed(&h, &lags)
	counted := node.NewTally()
	run, err := node.Embed(ctx, st, t, &h, counted)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, run.Stop()) }()
	begun := time.Now()
	busy := startLoad(ctx, st, rate, probes)
	process.Pause(ctx, d)
	o.Rate = float64(counted.N.Load()) / time.Since(begun).Seconds()
	if err := busy.stop(); err != nil {
		return o, err
	}
	err = run.Await(ctx, counted, busy.jobs.Load()) // the remaining jobs are late, and count
	o.Quantiles = lags.Quantiles()
	return o, err
}

// Sustained searches the greatest rate up to most at which 99 of 100 jobs start within 100 ms.
func Sustained(ctx context.Context, d *database.Database, most float64, each time.Duration, steps int, t node.Tuning) (rate float64, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return 0, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		low, high := 0.0, most
		for range steps {
			middle := (low + high) / 2
			o, err := Offer(ctx, st, middle, each, t)
			if err != nil {
				return err
			}
			if o.P99 <= 100*time.Millisecond && o.Rate > middle*0.95 {
				low = middle
			} else {
				high = middle
			}
		}
		rate = low
		return nil
	})
	return rate, errors.Join(err, s.Close())
}
