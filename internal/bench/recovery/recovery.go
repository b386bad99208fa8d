//go:build linux

// Package recovery measures the time until the jobs of a killed node run again. The node is a process of its own, which is
// killed with SIGKILL.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// held is the task whose jobs are requests without an answer.
const held = "held"

// holder is the server of these requests. It holds every request until the client is gone or the server is closed.
type holder struct {
	url     string
	server  *http.Server
	release chan struct{}

	mu   sync.Mutex
	seen map[string]map[string]time.Time // attempt -> job -> time of the request
	more chan struct{}
}

func newHolder() (*holder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &holder{url: "http://" + l.Addr().String(), release: make(chan struct{}), seen: map[string]map[string]time.Time{}, more: make(chan struct{}, 1)}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.server.Serve(l) }() // ends with Close
	return h, nil
}

// ServeHTTP records the attempt and holds its request.
func (h *holder) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	attempt, job := r.Header.Get("Belfry-Attempt"), r.Header.Get("Belfry-Job")
	h.mu.Lock()
	if h.seen[attempt] == nil {
		h.seen[attempt] = map[string]time.Time{}
	}
	h.seen[attempt][job] = time.Now()
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
	select {
	case <-r.Context().Done():
	case <-h.release:
	}
}

func (h *holder) close() error {
	close(h.release)
	return h.server.Close()
}

// await waits until n jobs are in this attempt, and returns the times of the first and the last request.
func (h *holder) await(ctx context.Context, attempt string, n int) (first, last time.Time, err error) {
	for {
		h.mu.Lock()
		came := len(h.seen[attempt])
		if came >= n {
			for _, at := range h.seen[attempt] {
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
			}
		}
		h.mu.Unlock()
		if came >= n {
			return first, last, nil
		}
		select {
		case <-h.more:
		case <-ctx.Done():
			return first, last, fmt.Errorf("%d of %d jobs are in attempt %s: %w", came, n, attempt, ctx.Err())
		}
	}
}

// Result has the times from the kill to the new starts of the jobs.
type Result struct{ First, Last time.Duration }

// Run kills a node that runs n jobs. On PostgreSQL another node is idle; on SQLite the node is started again at once. The
// built program has default settings apart from its slots and the length of a session.
func Run(ctx context.Context, d *database.Database, program string, n int, ttl time.Duration) (out Result, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	h, err := newHolder()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return holdJobs(ctx, st, h.url, n) }); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*ttl+2*time.Minute)
	defer cancel()
	serve := func() (*node.Node, error) {
		return node.Serve(s, program, "--allow-addresses", "loopback", "--queues", fmt.Sprintf("default=%d", n), "--session-ttl", ttl.String())
	}
	one, err := serve()
	if err != nil {
		return out, err
	}
	defer one.Kill()
	if _, _, err := h.await(ctx, "1", n); err != nil {
		return out, one.Trouble(err)
	}
	var two *node.Node
	if d.Postgres() {
		if two, err = serve(); err != nil {
			return out, err
		}
	}
	one.Kill()
	killed := time.Now()
	if two == nil {
		if two, err = serve(); err != nil {
			return out, err
		}
	}
	defer two.Kill()
	first, last, err := h.await(ctx, "2", n)
	if err != nil {
		return out, two.Trouble(err)
	}
	return Result{first.Sub(killed), last.Sub(killed)}, nil
}

// holdJobs enqueues jobs that are retried at once.
func holdJobs(ctx context.Context, st *store.Store, url string, n int) error {
	_, err := st.CreateTask(ctx, task.Task{
		Name: held, Kind: task.KindHTTP, HTTP: &task.HTTP{URL: url},
		Retry: task.Retry{MaxAttempts: 10, Backoff: task.BackoffFixed, Delay: core.Duration(10 * time.Millisecond), Jitter: -1},
	})
	if err != nil {
		return err
	}
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		jobs[i].Task = held
	}
	_, err = st.Enqueue(ctx, jobs)
	return err
}
