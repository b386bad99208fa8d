package workers

import (
	"cmp"
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// docOfSaving documents steps for both routes.
const docOfSaving = "Later attempts of the job read the result of a step and do not run it again. Steps are numbered from 1 without a gap, and each name is there once. " +
	"The same step under the same lease may be sent again: it is answered as it is recorded. Another one under its number or name is a conflict. " +
	"A step of the kind signal waits for the signal of its name: it is over once the answer has ended_at. Until then it may be sent again, also under a later lease. " +
	"A step of the kind spawn enqueues a job, once; one of the kind await waits for its end, as for a signal."

// docOfLinking documents for both routes who may answer.
const docOfLinking = "Anyone who knows the address can send the signal until one has come, it expires, is taken back or the job ends. Each call makes another; a lease that was lost is a conflict."

func (s *server) stepRoutes() {
	type attemptOfSession struct {
		ID    string `path:"id" doc:"As it was answered when the session was opened"`
		Job   int64  `path:"job" minimum:"1"`
		Lease int64  `path:"lease" minimum:"1"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "session-steps", Method: http.MethodGet, Path: "/v1/sessions/{id}/steps/{job}/{lease}", Scope: access.ScopeWorker,
		Summary: "List the recorded steps of the job of an attempt",
		Doc:     "An attempt whose lease was lost is answered with stale: true.",
	}, func(ctx context.Context, c *api.Call, in *attemptOfSession) (job.StepList, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return job.StepList{}, err
		}
		out, err := s.service.Steps(ctx, in.ID, job.Ref{JobID: in.Job, Lease: in.Lease})
		out.Steps = api.List(out.Steps)
		return out, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "session-step", Method: http.MethodPost, Path: "/v1/sessions/{id}/steps", Scope: access.ScopeWorker,
		Summary: "Record the next step of the job of an attempt",
		Doc:     docOfSaving + " Under a lease that was lost nothing is written, and the answer has stale: true. A step of the kind spawn needs the scope operate too.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionStep) (job.SavedStep, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return job.SavedStep{}, err
		}
		if err := body.WithDefaults().Validate(); err != nil {
			return job.SavedStep{}, err
		}
		if body.Job != nil && !access.Allows(c.Token.Scopes, access.ScopeOperate) {
			return job.SavedStep{}, core.Errorf(core.Forbidden, "a step that enqueues a job needs the scope %s beside %s", access.ScopeOperate, access.ScopeWorker).
				WithHint("give the token of the worker both scopes")
		}
		return s.service.SaveStep(ctx, in.ID, body.Ref, body.NewStep)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "session-link", Method: http.MethodPost, Path: "/v1/sessions/{id}/links", Scope: access.ScopeWorker,
		Summary: "Make an address at which a signal is sent to the job of an attempt without a token",
		Doc:     docOfLinking,
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionLink) (job.NewLink, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return job.NewLink{}, err
		}
		return s.service.LinkSignal(ctx, in.ID, body.Ref, body.Link)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-link", Method: http.MethodPost, Path: "/v1/attempts/{job}/{lease}/links", Attempt: true,
		Summary: "Make an address at which a signal is sent to an attempt's job without a token",
		Doc:     docOfLinking,
	}, func(ctx context.Context, c *api.Call, in *attemptOf, l job.Link) (job.NewLink, error) {
		out, err := s.service.LinkSignal(ctx, c.Right.Session, in.ref(), l)
		if core.CodeOf(err) == core.Conflict { // of the lease, or of the step's name
			err = cmp.Or(s.Signing.From.CheckAttempt(ctx, c.Right.Session, in.ref()), err)
		}
		return out, err
	})

	s.attemptStepRoutes()
	s.progressRoutes()
}

// attemptStepRoutes serves steps to a program that has only the token of its attempt.
func (s *server) attemptStepRoutes() {
	const path = "/v1/attempts/{job}/{lease}/steps"
	api.Serve(s.API, api.Endpoint{
		Id: "attempt-steps", Method: http.MethodGet, Path: path, Attempt: true,
		Summary: "List the recorded steps of an attempt's job",
	}, func(ctx context.Context, c *api.Call, in *attemptOf) (job.StepList, error) {
		out, err := s.service.Steps(ctx, c.Right.Session, in.ref())
		if err == nil && out.Stale {
			err = s.Signing.From.CheckAttempt(ctx, c.Right.Session, in.ref())
		}
		out.Steps = api.List(out.Steps)
		return out, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-step", Method: http.MethodPost, Path: path, Attempt: true,
		Summary: "Record the next step of an attempt's job",
		Doc:     docOfSaving,
	}, func(ctx context.Context, c *api.Call, in *attemptOf, n job.NewStep) (job.SavedStep, error) {
		if err := n.WithDefaults().Validate(); err != nil {
			return job.SavedStep{}, err
		}
		if n.Job != nil {
			return job.SavedStep{}, core.Errorf(core.Forbidden, "the token of an attempt enqueues no job")
		}
		out, err := s.service.SaveStep(ctx, c.Right.Session, in.ref(), n)
		if err == nil && out.Stale {
			err = s.Signing.From.CheckAttempt(ctx, c.Right.Session, in.ref())
		}
		return out, err
	})
}

// progressRoutes serves the progress that attempts report.
func (s *server) progressRoutes() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "session-progress", Method: http.MethodPost, Path: "/v1/sessions/{id}/progress", Scope: access.ScopeWorker,
		Summary: "Say how far attempts are",
		Doc:     "Each in the place of what was said before; at most once a second is enough. What comes under a stale lease is dropped.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionProgress) (api.None, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.SaveProgress(ctx, in.ID, body.Attempts)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-progress", Method: http.MethodPost, Path: "/v1/attempts/{job}/{lease}/progress", Attempt: true,
		Summary: "Say how far an attempt is",
	}, func(ctx context.Context, c *api.Call, in *attemptOf, g job.Progress) (api.None, error) {
		if err := s.Signing.From.CheckAttempt(ctx, c.Right.Session, in.ref()); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.SaveProgress(ctx, c.Right.Session, []job.AttemptProgress{{Ref: in.ref(), Progress: g}})
	})
}
