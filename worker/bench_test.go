package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
)

// endless is a broker that costs nothing and has a job whenever asked, until
// so many were finished.
type endless struct {
	next, finished atomic.Int64
	enough         int64
	done           chan struct{}
}

func (e *endless) OpenSession(_ context.Context, w belfry.WorkerInfo) (belfry.Session, error) {
	return belfry.Session{ID: "s", TTL: belfry.DefaultSessionTTL, Queues: w.Queues}, nil
}

func (e *endless) Claim(_ context.Context, r belfry.ClaimRequest) (belfry.Claim, error) {
	c := belfry.Claim{Lease: e.next.Load() + 1}
	for range r.Want["default"] {
		j := belfry.Job{ID: e.next.Add(1), Task: "noop", Kind: belfry.KindFunc, Queue: "default", Timeout: belfry.DefaultTimeout}
		c.Jobs = append(c.Jobs, belfry.LeasedJob{Job: j})
	}
	return c, nil
}

func (e *endless) Renew(context.Context, string, []belfry.Holding) (belfry.Renewal, error) {
	return belfry.Renewal{}, nil
}

func (e *endless) Finish(_ context.Context, _ string, fs []belfry.Finish) ([]belfry.Finished, error) {
	if e.finished.Add(int64(len(fs))) >= e.enough && e.enough > 0 {
		e.enough = 0
		close(e.done)
	}
	return make([]belfry.Finished, len(fs)), nil
}

func (e *endless) Append(context.Context, string, []belfry.LogPiece) error { return nil }
func (e *endless) CloseSession(context.Context, string) error              { return nil }

// BenchmarkJob is what the worker itself costs per job, with a broker and a
// handler that cost nothing.
func BenchmarkJob(b *testing.B) {
	var h worker.Handlers
	worker.Handle(&h, "noop", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	e := &endless{enough: int64(b.N), done: make(chan struct{})}
	w, err := worker.New(worker.Options{Broker: e, Handlers: &h, Queues: map[string]int{"default": 50}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	b.ReportAllocs()
	begun := time.Now()
	go func() { _ = w.Run(ctx); close(ended) }()
	<-e.done
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "jobs/s")
	cancel()
	<-ended
}
