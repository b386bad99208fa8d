package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// endless is a server without cost that always has jobs, until a number of them
// were finished.
type endless struct {
	next, finished atomic.Int64
	enough         int64
	done           chan struct{}
}

func (e *endless) OpenSession(_ context.Context, w job.WorkerInfo) (job.Session, error) {
	return job.Session{ID: "s", TTL: job.DefaultSessionTTL, Queues: w.Queues}, nil
}

func (e *endless) Claim(_ context.Context, r job.ClaimRequest) (job.Claim, error) {
	c := job.Claim{Lease: e.next.Load() + 1}
	for range r.Want["default"] {
		j := job.Job{ID: e.next.Add(1), Task: "noop", Kind: task.KindFunc, Queue: "default", Timeout: task.DefaultTimeout}
		c.Jobs = append(c.Jobs, job.LeasedJob{Job: j})
	}
	return c, nil
}

func (e *endless) Renew(context.Context, string, job.Holdings) (job.Renewal, error) {
	return job.Renewal{}, nil
}

func (e *endless) Finish(_ context.Context, _ string, fs []job.Finish) ([]job.Finished, error) {
	if e.finished.Add(int64(len(fs))) >= e.enough && e.enough > 0 {
		e.enough = 0
		close(e.done)
	}
	return make([]job.Finished, len(fs)), nil
}

func (e *endless) Append(context.Context, string, []job.LogPiece) error { return nil }
func (e *endless) CloseSession(context.Context, string) error           { return nil }

// BenchmarkJob measures the cost of the worker per job, with a server and a handler
// without cost.
func BenchmarkJob(b *testing.B) {
	var h worker.Handlers
	worker.Handle(&h, "noop", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	e := &endless{enough: int64(b.N), done: make(chan struct{})}
	w, err := worker.New(worker.Options{Leaser: e, Handlers: &h, Queues: map[string]int{"default": 50}})
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
