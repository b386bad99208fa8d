package jobs

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

func (s *server) stepRoutes() {
	type recordedSteps struct {
		Items []job.Step `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-steps", Method: http.MethodGet, Path: "/v1/jobs/{id}/steps", Scope: access.ScopeRead,
		Summary: "List the recorded steps of a job, in order",
		Doc:     "Later attempts take the results of these steps from here and do not run them again. A job has at most 1,000 steps, with 8 MiB of results together.",
	}, func(ctx context.Context, c *api.Call, in *jobByID) (recordedSteps, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return recordedSteps{}, err
		}
		items, err := s.service.JobSteps(ctx, ns, in.ID)
		return recordedSteps{api.List(items)}, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "job-signal", Method: http.MethodPost, Path: "/v1/jobs/{id}/signals", Scope: access.ScopeOperate,
		Summary: "Send a signal to a job",
		Doc:     "It ends the wait of the step of its name, and starts the job at once if it was put off for that. One that no step waits for yet is kept. Of two with one name the first counts, and the second is answered with existing: true.",
	}, func(ctx context.Context, c *api.Call, in *jobByID, sig job.Signal) (job.SentSignal, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.SentSignal{}, err
		}
		return s.service.SignalJob(ctx, ns, in.ID, sig)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "job-link", Method: http.MethodPost, Path: "/v1/jobs/{id}/links", Scope: access.ScopeOperate,
		Summary: "Make an address at which a signal is sent to a job without a token",
		Doc:     "Anyone who knows the address can send the signal until one has come, it expires, is taken back or the job ends. A person sees a form there; a program posts what the signal brings to it as JSON. A step need not wait for it yet.",
	}, func(ctx context.Context, c *api.Call, in *jobByID, l job.Link) (job.NewLink, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.NewLink{}, err
		}
		return s.service.MakeSignalLink(ctx, ns, in.ID, l)
	})

	type linksOfJob struct {
		ID        int64  `path:"id"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Name      string `query:"name" doc:"Of the signal; default: the links of all"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-unlink", Method: http.MethodDelete, Path: "/v1/jobs/{id}/links", Scope: access.ScopeOperate,
		Summary: "Take back the links to signals of a job",
	}, func(ctx context.Context, c *api.Call, in *linksOfJob) (job.Unlinked, error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return job.Unlinked{}, err
		}
		return s.service.DeleteSignalLinks(ctx, ns, in.ID, in.Name)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "job-reset-steps", Method: http.MethodPost, Path: "/v1/jobs/{id}/reset-steps", Scope: access.ScopeOperate, Bare: true,
		Summary: "Forget the steps of a job from one on, or all",
		Doc:     "The next attempt runs them again. A job that is running is a conflict.",
	}, func(ctx context.Context, c *api.Call, in *jobByID, r job.StepReset) (wire.StepsForgotten, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return wire.StepsForgotten{}, err
		}
		n, err := s.service.ResetSteps(ctx, ns, in.ID, r)
		return wire.StepsForgotten{Steps: n}, err
	})
}
