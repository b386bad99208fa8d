package httpapi_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/httpapi"
)

// lateClaims leases jobs when the worker that asked has just left.
type lateClaims struct {
	httpapi.Service
	asked    chan struct{}
	finished chan []belfry.Finished
}

func (l lateClaims) Claim(ctx context.Context, r belfry.ClaimRequest) (belfry.Claim, error) {
	close(l.asked)
	<-ctx.Done()
	r.Wait = 0
	return l.Service.Claim(context.WithoutCancel(ctx), r)
}

func (l lateClaims) Finish(ctx context.Context, session string, fs []belfry.Finish) ([]belfry.Finished, error) {
	out, err := l.Service.Finish(ctx, session, fs)
	l.finished <- out
	return out, err
}

func TestJobsOfAClaimWhoseWorkerHasLeftAreHandedBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, false)
	l := lateClaims{Service: s.store, asked: make(chan struct{}), finished: make(chan []belfry.Finished, 1)}
	api, err := httpapi.New(httpapi.Options{Service: l, Auth: s.store, Secrets: s.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	srv := httptest.NewServer(api.Handler())
	defer srv.Close()
	_, secret, err := s.store.CreateToken(t.Context(), belfry.Token{Name: "w", Namespace: belfry.AnyNamespace, Scopes: []belfry.Scope{belfry.ScopeWorker}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := httpapi.NewClient(srv.URL, secret, httpapi.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	session, err := client.OpenSession(t.Context(), belfry.WorkerInfo{
		Name: "w", Namespace: belfry.AnyNamespace, Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.CreateTask(t.Context(), belfry.Task{Name: "t"}); err != nil && belfry.CodeOf(err) != belfry.Conflict {
		t.Fatal(err)
	}
	made, err := s.store.Enqueue(t.Context(), []belfry.NewJob{{Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-l.asked; leave() }()
	if _, err := client.Claim(ctx, belfry.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}, Wait: belfry.MaxClaimWait}); err == nil {
		t.Error("a claim is answered to a worker that has left")
	}
	if got := <-l.finished; len(got) != 1 || got[0].Stale || got[0].State != belfry.JobReady {
		t.Errorf("handed back: %+v", got)
	}
	j, err := s.store.Job(t.Context(), "default", made[0].Job.ID)
	if err != nil || j.State != belfry.JobReady || j.Failures != 0 {
		t.Errorf("the job is %s with %d failures, %v", j.State, j.Failures, err)
	}
}
