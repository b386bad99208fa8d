// Package workers serves queues, workers, and the protocol of workers without the
// database: sessions, claims and what attempts do by themselves.
package workers

import (
	"context"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Queues
	Workers
	job.Leaser
	job.StepKeeper
	job.ProgressKeeper
	// CountJobs counts what a filter finds, as far as a cap.
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	// DeclareOutput announces a file of an attempt that runs, and answers where its
	// bytes are to be sent, or nil when they are there.
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}

// server serves the routes of this package.
type server struct {
	*api.API
	service  Service
	byTicket []string
	sessions sessionOwners
}

// Routes registers the routes of this package. Jobs of the queues byTicket are claimed
// by tickets alone.
func Routes(a *api.API, s Service, byTicket []string) {
	r := &server{API: a, service: s, byTicket: byTicket}
	r.queueRoutes()
	r.workerRoutes()
	r.sessionRoutes()
	r.attemptRoutes()
	r.stepRoutes()
}
