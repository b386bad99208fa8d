package workers

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// queueByName names a queue. Queues belong to no namespace.
type queueByName struct {
	Name string `path:"name"`
}

func (s *server) queueRoutes() {
	type queueList struct {
		Items []job.QueueStats `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "queue-list", Method: http.MethodGet, Path: "/v1/queues", Scope: access.ScopeRead, Also: access.ScopeWorker,
		Summary: "List queues and what waits in them",
		Doc:     "A token for one namespace sees the jobs of its own, and not since when the oldest waits. A token with the scope worker alone gets names and settings, and no counts.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (queueList, error) {
		if api.Allow(c.Token, access.ScopeRead) != nil {
			queues, err := s.service.QueueList(ctx)
			items := make([]job.QueueStats, len(queues))
			for i, q := range queues {
				items[i] = job.QueueStats{Queue: q}
			}
			return queueList{items}, err
		}
		items, err := s.service.Queues(ctx)
		if err == nil {
			items, err = s.ownQueues(ctx, c.Token, items)
		}
		return queueList{api.List(items)}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "queue-show", Method: http.MethodGet, Path: "/v1/queues/{name}", Scope: access.ScopeRead,
		Summary: "Show a queue and what waits in it",
		Doc:     "A token for one namespace sees the jobs of its own, and not since when the oldest waits.",
	}, func(ctx context.Context, c *api.Call, in *queueByName) (job.QueueStats, error) {
		if err := core.ValidName("name", in.Name); err != nil {
			return job.QueueStats{}, err
		}
		q, err := s.service.Queue(ctx, in.Name)
		if err != nil {
			return q, err
		}
		return s.ownQueue(ctx, c.Token, q)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "queue-limits", Method: http.MethodGet, Path: "/v1/queues/{name}/limits", Scope: access.ScopeRead,
		Summary: "Show how the limits of a queue are used now, and by which keys most",
		Doc:     "Needs a token for all namespaces: keys are values of inputs.",
	}, func(ctx context.Context, c *api.Call, in *queueByName) ([]view.LimitUse, error) {
		if err := in.check(c); err != nil {
			return nil, err
		}
		all, err := s.service.QueueLimitUse(ctx, in.Name)
		return api.List(all), err
	})

	s.queueChanges()
}

// queueChanges serves the changes of one queue.
func (s *server) queueChanges() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "queue-save", Method: http.MethodPut, Path: "/v1/queues/{name}", Scope: access.ScopeAdmin,
		Summary: "Create or replace a queue",
		Doc:     "A pause is kept. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *queueByName, q job.Queue) (_ job.Queue, err error) {
		if err := api.Everywhere(c.Token, "queues"); err != nil {
			return q, err
		}
		if q.Name, err = api.Agree("name", in.Name, q.Name); err != nil {
			return q, err
		}
		return s.service.SaveQueue(ctx, q)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "queue-delete", Method: http.MethodDelete, Path: "/v1/queues/{name}", Scope: access.ScopeAdmin,
		Summary: "Delete a queue",
		Doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *queueByName) (api.None, error) {
		if err := in.check(c); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteQueue(ctx, in.Name)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "queue-pause", Method: http.MethodPost, Path: "/v1/queues/{name}/pause", Scope: access.ScopeOperate, Bare: true,
		Summary: "Start no more jobs of a queue",
		Doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *queueByName, body wire.PauseReason) (job.Queue, error) {
		if err := in.check(c); err != nil {
			return job.Queue{}, err
		}
		return s.service.PauseQueue(ctx, in.Name, body.Reason)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "queue-resume", Method: http.MethodPost, Path: "/v1/queues/{name}/resume", Scope: access.ScopeOperate,
		Summary: "Start jobs of a queue again",
		Doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *queueByName) (job.Queue, error) {
		if err := in.check(c); err != nil {
			return job.Queue{}, err
		}
		return s.service.ResumeQueue(ctx, in.Name)
	})
}

// check requires a valid name, and a token that may change queues.
func (in *queueByName) check(c *api.Call) error {
	if err := core.ValidName("name", in.Name); err != nil {
		return err
	}
	return api.Everywhere(c.Token, "queues")
}

func (s *server) workerRoutes() {
	type listing struct {
		Ended bool `query:"ended" doc:"Also those that have ended and are still kept"`
	}
	type workerList struct {
		Items []job.WorkerState `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "worker-list", Method: http.MethodGet, Path: "/v1/workers", Scope: access.ScopeRead,
		Summary: "List workers",
		Doc:     "A token for one namespace sees the workers that run its jobs, and how many jobs those hold that run no other.",
	}, func(ctx context.Context, c *api.Call, in *listing) (workerList, error) {
		items, err := s.service.Workers(ctx, in.Ended)
		return workerList{api.List(api.OwnWorkers(c.Token, items))}, err
	})

	type bySession struct {
		Session string `path:"session"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "worker-drain", Method: http.MethodPost, Path: "/v1/workers/{session}/drain", Scope: access.ScopeOperate,
		Summary: "Ask a worker to finish what it runs and claim no more",
		Doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *bySession) (api.None, error) {
		if err := api.Everywhere(c.Token, "workers"); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DrainWorker(ctx, in.Session)
	})
}
