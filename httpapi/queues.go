package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// queueByName names a queue. Queues belong to no namespace.
type queueByName struct {
	Name string `path:"name"`
}

func (s *Server) queueRoutes() {
	type queueList struct {
		Items []job.QueueStats `json:"items"`
	}
	serve(s, endpoint{
		id: "queue-list", method: http.MethodGet, path: "/v1/queues", scope: access.ScopeRead, also: access.ScopeWorker,
		summary: "List queues and what waits in them",
		doc:     "A token for one namespace sees the jobs of its own, and not since when the oldest waits. A token with the scope worker alone gets names and settings, and no counts.",
	}, func(ctx context.Context, c *call, _ *struct{}) (queueList, error) {
		items, err := s.service.Queues(ctx)
		if allow(c.token, access.ScopeRead) != nil {
			for i := range items {
				items[i] = job.QueueStats{Queue: items[i].Queue}
			}
		}
		if err == nil && allow(c.token, access.ScopeRead) == nil {
			items, err = s.ownQueues(ctx, c.token, items)
		}
		return queueList{list(items)}, err
	})

	serve(s, endpoint{
		id: "queue-show", method: http.MethodGet, path: "/v1/queues/{name}", scope: access.ScopeRead,
		summary: "Show a queue and what waits in it",
		doc:     "A token for one namespace sees the jobs of its own, and not since when the oldest waits.",
	}, func(ctx context.Context, c *call, in *queueByName) (job.QueueStats, error) {
		if err := core.ValidName("name", in.Name); err != nil {
			return job.QueueStats{}, err
		}
		q, err := s.service.Queue(ctx, in.Name)
		if err != nil {
			return q, err
		}
		return s.ownQueue(ctx, c.token, q)
	})

	serveBody(s, endpoint{
		id: "queue-save", method: http.MethodPut, path: "/v1/queues/{name}", scope: access.ScopeAdmin,
		summary: "Create or replace a queue",
		doc:     "A pause is kept. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *queueByName, q job.Queue) (_ job.Queue, err error) {
		if err := everywhere(c.token, "queues"); err != nil {
			return q, err
		}
		if q.Name, err = agree("name", in.Name, q.Name); err != nil {
			return q, err
		}
		return s.service.SaveQueue(ctx, q)
	})

	serve(s, endpoint{
		id: "queue-delete", method: http.MethodDelete, path: "/v1/queues/{name}", scope: access.ScopeAdmin,
		summary: "Delete a queue",
		doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *queueByName) (none, error) {
		if err := in.check(c); err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteQueue(ctx, in.Name)
	})

	serveBody(s, endpoint{
		id: "queue-pause", method: http.MethodPost, path: "/v1/queues/{name}/pause", scope: access.ScopeOperate, bare: true,
		summary: "Start no more jobs of a queue",
		doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *queueByName, body wire.PauseReason) (job.Queue, error) {
		if err := in.check(c); err != nil {
			return job.Queue{}, err
		}
		return s.service.PauseQueue(ctx, in.Name, body.Reason)
	})

	serve(s, endpoint{
		id: "queue-resume", method: http.MethodPost, path: "/v1/queues/{name}/resume", scope: access.ScopeOperate,
		summary: "Start jobs of a queue again",
		doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *queueByName) (job.Queue, error) {
		if err := in.check(c); err != nil {
			return job.Queue{}, err
		}
		return s.service.ResumeQueue(ctx, in.Name)
	})
}

// check wants a name, and a token that may change queues.
func (in *queueByName) check(c *call) error {
	if err := core.ValidName("name", in.Name); err != nil {
		return err
	}
	return everywhere(c.token, "queues")
}

func (s *Server) workerRoutes() {
	type listing struct {
		Ended bool `query:"ended" doc:"Also those that have ended and are still kept"`
	}
	type workerList struct {
		Items []job.WorkerState `json:"items"`
	}
	serve(s, endpoint{
		id: "worker-list", method: http.MethodGet, path: "/v1/workers", scope: access.ScopeRead,
		summary: "List workers",
		doc:     "A token for one namespace sees the workers that run its jobs, and how many jobs those hold that run no other.",
	}, func(ctx context.Context, c *call, in *listing) (workerList, error) {
		items, err := s.service.Workers(ctx, in.Ended)
		return workerList{list(ownWorkers(c.token, items))}, err
	})

	type bySession struct {
		Session string `path:"session"`
	}
	serve(s, endpoint{
		id: "worker-drain", method: http.MethodPost, path: "/v1/workers/{session}/drain", scope: access.ScopeOperate,
		summary: "Ask a worker to finish what it runs and claim no more",
		doc:     "Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *bySession) (none, error) {
		if err := everywhere(c.token, "workers"); err != nil {
			return none{}, err
		}
		return none{}, s.service.DrainWorker(ctx, in.Session)
	})
}

// runsFor reports whether a worker of one namespace may run jobs of another.
func runsFor(worker, namespace string) bool {
	return namespace == core.AnyNamespace || worker == "" || worker == core.AnyNamespace || worker == namespace
}

func (s *Server) tokenRoutes() {
	type tokenList struct {
		Items []access.Token `json:"items"`
	}
	serve(s, endpoint{
		id: "token-list", method: http.MethodGet, path: "/v1/tokens", scope: access.ScopeAdmin,
		summary: "List tokens, without their secrets",
		doc:     "A token for one namespace sees those for the same.",
	}, func(ctx context.Context, c *call, _ *struct{}) (tokenList, error) {
		items, err := s.service.Tokens(ctx)
		if own := c.token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(t access.Token) bool { return t.Namespace != own })
		}
		return tokenList{list(items)}, err
	})

	serveBody(s, endpoint{
		id: "token-create", method: http.MethodPost, path: "/v1/tokens", scope: access.ScopeAdmin, created: true,
		summary: "Create a token",
		doc:     "The secret is answered this once. A token for one namespace makes tokens for the same, with scopes that it has itself.",
	}, func(ctx context.Context, c *call, _ *struct{}, t access.Token) (wire.NewToken, error) {
		t, err := delegated(c.token, t)
		if err != nil {
			return wire.NewToken{}, err
		}
		made, secret, err := s.service.CreateToken(ctx, t)
		return wire.NewToken{Token: made, Secret: secret}, err
	})

	serve(s, endpoint{
		id: "token-whoami", method: http.MethodGet, path: "/v1/whoami",
		summary: "Show the token that asks",
		doc:     "Of use to find out what it may do, and until when.",
	}, func(_ context.Context, c *call, _ *struct{}) (access.Token, error) {
		return c.token, nil
	})

	type byID struct {
		ID int64 `path:"id" minimum:"1"`
	}
	serve(s, endpoint{
		id: "token-revoke", method: http.MethodDelete, path: "/v1/tokens/{id}", scope: access.ScopeAdmin,
		summary: "Revoke a token",
		doc:     "Other nodes may believe it for up to ten seconds more; the sessions of workers that it opened end at once. A token for one namespace revokes tokens of the same.",
	}, func(ctx context.Context, c *call, in *byID) (none, error) {
		if err := s.mayRevoke(ctx, c.token, in.ID); err != nil {
			return none{}, err
		}
		err := s.service.RevokeToken(ctx, in.ID)
		s.guard.forget()
		return none{}, err
	})
}
