// Package workers serves queues, workers, and the protocol of remote workers:
// sessions, claims and calls of attempts.
package workers

import (
	"context"
	"sync"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Service is the part of the store that these routes use.
type Service interface {
	Queues
	Workers
	job.Leaser
	job.StepKeeper
	job.ProgressKeeper
	// CountJobs counts the jobs of a filter, up to a cap.
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	// DeclareOutput announces an output file of a running attempt, and returns the
	// link for its upload, or nil if the bytes are already stored.
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}

// server serves the routes of this package.
type server struct {
	*api.API
	service  Service
	byTicket []string
	sessions sessionOwners

	tokensMu sync.Mutex
	tokens   patience.Outage // of the tokens that renewals bring
}

// Routes registers the routes of this package. Jobs of the queues in byTicket are claimed
// only with tickets.
func Routes(a *api.API, s Service, byTicket []string) {
	r := &server{API: a, service: s, byTicket: byTicket}
	r.tokens = patience.Outage{Log: a.Options.Logger, What: "tokens of attempts cannot be renewed"}
	r.queueRoutes()
	r.workerRoutes()
	r.sessionRoutes()
	r.attemptRoutes()
	r.stepRoutes()
}
