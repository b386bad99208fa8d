//go:build linux

package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/store"
)

// Weight is the cost of idle schedules: per schedule, and of all of them while none is due.
type Weight struct {
	Schedules  int
	Disk       float64 // bytes per schedule, tables and indexes
	RSS, Heap  float64 // bytes per schedule in the node
	Node, Base float64 // RSS of the node, with and without the schedules
	CPU        float64 // share of a core that the node uses
	Server     float64 // the same of PostgreSQL
	Saved      time.Duration
}

// Weigh saves n idle schedules in an empty database, and measures the built program before and after.
func Weigh(ctx context.Context, s *database.Site, belfry string, n int, rest time.Duration) (w Weight, err error) {
	w.Schedules = n
	before, err := idleNode(ctx, s, belfry, rest)
	if err != nil {
		return w, err
	}
	if err := s.Calm(ctx); err != nil {
		return w, err
	}
	empty, err := s.Size(ctx)
	if err != nil {
		return w, err
	}
	begun := time.Now()
	if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return Idle(ctx, s, st, n) }); err != nil {
		return w, err
	}
	w.Saved = time.Since(begun)
	if err := s.Calm(ctx); err != nil {
		return w, err
	}
	full, err := s.Size(ctx)
	if err != nil {
		return w, err
	}
	after, err := idleNode(ctx, s, belfry, rest)
	w.Disk = float64(full-empty) / float64(n)
	w.RSS, w.Heap = (after.rss-before.rss)/float64(n), (after.heap-before.heap)/float64(n)
	w.Node, w.Base, w.CPU, w.Server = after.rss, before.rss, after.node, after.server
	return w, err
}

// rested has the usage of an idle node.
type rested struct{ rss, heap, node, server float64 }

// idleNode starts a node and measures it after an idle time.
func idleNode(ctx context.Context, s *database.Site, belfry string, d time.Duration) (r rested, err error) {
	node, err := node.Serve(s, belfry)
	if err != nil {
		return r, err
	}
	defer node.Kill()
	from := time.Now().Add(time.Second) // leaves out the cost of the start
	if r.node, r.server, err = s.Shares(ctx, node.Process, from, from.Add(d)); err != nil {
		return r, err
	}
	rss, err := node.Memory()
	if err != nil {
		return r, err
	}
	r.rss = float64(rss)
	r.heap, err = node.Metric(ctx, "go_memstats_heap_inuse_bytes")
	return r, errors.Join(err, ctx.Err())
}
