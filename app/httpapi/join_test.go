package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestGuessesOfJoinTokensAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.on["Join"] = func(_ context.Context, args []any) (any, error) {
		if args[0] == "invitation" {
			return access.Token{ID: 9, Name: "m", Scopes: []access.Scope{access.ScopeWorker}}, nil
		}
		return nil, core.Errorf(core.Unauthorized, "the join token is unknown")
	}
	b.refused(t, http.StatusUnauthorized, http.MethodPost, "/v1/join", `{"name":"m"}`, "Authorization", "")
	if status, _, text := b.raw(t, http.MethodPost, "/v1/join", `{"name":"m"}`, "Authorization", "Bearer invitation"); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	for range api.FailuresAtOnce + 5 { // some come back while this runs
		b.raw(t, http.MethodPost, "/v1/join", `{"name":"m"}`, "Authorization", "Bearer guess")
	}
	for tries := 0; ; tries++ {
		status, _, _ := b.raw(t, http.MethodPost, "/v1/join", `{"name":"m"}`, "Authorization", "Bearer guess")
		if status == http.StatusTooManyRequests {
			break
		}
		if tries > 10*api.FailuresAtOnce {
			t.Fatal("guesses are heard for ever")
		}
	}
	if n := b.tokens.looks(); n != 0 {
		t.Errorf("a join token was looked up as a token %d times", n)
	}
}

func TestJoinTokensAreMadeByThoseForAllNamespaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.on["JoinTokens"] = func(context.Context, []any) (any, error) {
		return []access.JoinToken{{ID: 1, Namespace: "team-a"}, {ID: 2, Namespace: "team-b"}}, nil
	}
	team := b.as(t, "team")
	_, _, err := team.CreateJoinToken(t.Context(), access.JoinToken{Name: "j", Namespace: "team-a"})
	if core.CodeOf(err) != core.Forbidden {
		t.Error(err)
	}
	if err := team.RevokeJoinToken(t.Context(), 1); core.CodeOf(err) != core.Forbidden {
		t.Error(err)
	}
	if seen, err := team.JoinTokens(t.Context()); err != nil || len(seen) != 1 || seen[0].ID != 1 {
		t.Error(seen, err)
	}
	if _, err := b.as(t, "reader").JoinTokens(t.Context()); core.CodeOf(err) != core.Forbidden {
		t.Error(err)
	}
}

func TestLabelsOfATokenCountBeforeAWorkersOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tokens.set("joined", access.Token{ID: 4, Name: "m", Namespace: "team-a", Scopes: []access.Scope{access.ScopeWorker}, Labels: map[string]string{"pool": "build"}})
	var got job.WorkerInfo
	b.on["OpenSession"] = func(_ context.Context, args []any) (any, error) {
		got = args[0].(job.WorkerInfo)
		return job.Session{ID: "s"}, nil
	}
	_, err := b.as(t, "joined").OpenSession(t.Context(), job.WorkerInfo{Name: "m", Has: task.Has{Labels: map[string]string{"pool": "mine", "gpu": "true"}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "labels", got.Has.Labels, map[string]string{"pool": "build", "gpu": "true"})
}

func TestALongBodyOfAMachineThatJoinsIsRefused(t *testing.T) {
	b := setup(t)
	b.refused(t, http.StatusRequestEntityTooLarge, http.MethodPost, "/v1/join", `{"name": "`+strings.Repeat("x", 5<<10)+`"}`)
}
