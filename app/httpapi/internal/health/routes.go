// Package health serves the health checks of a node and its database. [Routes]
// registers the routes. Liveness needs no token and fails only for faults that a
// restart of the process mends; readiness and the health of the database say
// more.
package health

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Service is the part of the store that these routes use.
type Service interface {
	Health
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
}

// Options are the health checks of a node. [httpapi.Options] documents them.
type Options struct {
	Alive      func(ctx context.Context) error
	Unwell     func() map[task.Kind]string
	LeftBehind func() (attempts, alerts int)
	Outdated   func() error
	Ready      func(ctx context.Context) error
	MaxLag     time.Duration
	Check      func() core.Check
}

// server serves the routes of this package.
type server struct {
	*api.API
	service  Service
	opts     Options
	state    healthMemo
	vitality vitality
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service, o Options) {
	r := &server{API: a, service: s, opts: o, vitality: vitality{look: o.Alive, keep: time.Second}}
	r.healthRoutes()
	a.Mux.HandleFunc("GET /healthz", r.alive)
	a.Mux.HandleFunc("GET /readyz", r.ready)
}
