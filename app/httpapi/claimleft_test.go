package httpapi_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// lateClaims leases jobs when the worker that asked has just left.
type lateClaims struct {
	httpapi.Service
	asked    chan struct{}
	finished chan []job.Finished
}

func (l lateClaims) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	close(l.asked)
	<-ctx.Done()
	r.Wait = 0
	return l.Service.Claim(context.WithoutCancel(ctx), r)
}

func (l lateClaims) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	out, err := l.Service.Finish(ctx, session, fs)
	l.finished <- out
	return out, err
}

func TestJobsClaimedByAWorkerThatLeftAreHandedBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, false)
	l := lateClaims{Service: s.store, asked: make(chan struct{}), finished: make(chan []job.Finished, 1)}
	api, err := httpapi.New(httpapi.Options{Service: l, Auth: s.store, Secrets: s.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	srv := httptest.NewServer(api.Handler())
	defer srv.Close()
	_, secret, err := s.store.CreateToken(t.Context(), access.Token{Name: "w", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeWorker}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := client.New(srv.URL, secret, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	session, err := client.OpenSession(t.Context(), job.WorkerInfo{
		Name: "w", Namespace: core.AnyNamespace, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil && core.CodeOf(err) != core.Conflict {
		t.Fatal(err)
	}
	made, err := s.store.Enqueue(t.Context(), []job.NewJob{{Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-l.asked; leave() }()
	if _, err := client.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait}); err == nil {
		t.Error("a claim is answered to a worker that has left")
	}
	if got := <-l.finished; len(got) != 1 || got[0].Stale || got[0].State != job.Ready {
		t.Errorf("handed back: %+v", got)
	}
	j, err := s.store.Job(t.Context(), "default", made[0].Job.ID)
	if err != nil || j.State != job.Ready || j.Failures != 0 {
		t.Errorf("the job is %s with %d failures, %v", j.State, j.Failures, err)
	}
}
