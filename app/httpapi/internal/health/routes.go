// Package health says whether a node and its database are well.
package health

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Health
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
}

// Options are what a node says of itself, as [httpapi.Options] has it.
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
