package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/app/internal/memory"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestSharesOfRequests(t *testing.T) {
	t.Parallel()
	request := func(method, body string) *http.Request {
		if body == "" {
			return httptest.NewRequest(method, "/", nil)
		}
		return httptest.NewRequest(method, "/", strings.NewReader(body))
	}
	chunked := request("POST", "x")
	chunked.ContentLength = -1
	for name, c := range map[string]struct {
		e    Endpoint
		r    *http.Request
		want int64
	}{
		"a page":                      {Endpoint{answer: answerOf[core.Page[job.Job]]()}, request("GET", ""), pageShare},
		"a job":                       {Endpoint{answer: answerOf[job.Job]()}, request("GET", ""), answerShare},
		"a small body":                {Endpoint{MaxBody: 4 << 20}, request("POST", "x"), leastShare},
		"a large body":                {Endpoint{MaxBody: 4 << 20}, request("POST", strings.Repeat("x", 3<<20)), 3 << 20},
		"a body of an unknown length": {Endpoint{MaxBody: 4 << 20}, chunked, 4 << 20},
		"a change without a body":     {Endpoint{}, request("DELETE", ""), leastShare},
	} {
		if got := c.e.share(c.r); got != c.want {
			t.Errorf("share of %s: got %d, want %d", name, got, c.want)
		}
	}
}

// A worker renews its session while other callers have all the memory of requests.
func TestRequestsOfWorkersHaveMemoryOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &API{memory: memory.NewKinds(), workerMemory: memory.NewKinds()}
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, err := a.memory.Answers.Take(t.Context(), name, memory.Most); err != nil {
				t.Fatal(err)
			}
		}
		reader, worker := access.Token{Scopes: []access.Scope{access.ScopeRead}}, access.Token{Scopes: []access.Scope{access.ScopeWorker}}
		for _, c := range []struct {
			e     Endpoint
			token access.Token
			code  core.Code
		}{
			{Endpoint{Scope: access.ScopeRead}, reader, core.Unavailable},
			{Endpoint{Scope: access.ScopeRead, Also: access.ScopeWorker}, reader, core.Unavailable},
			{Endpoint{Attempt: true}, access.Token{}, core.Unavailable},
			{Endpoint{Scope: access.ScopeRead, Also: access.ScopeWorker}, worker, ""},
			{Endpoint{Scope: access.ScopeWorker}, worker, ""},
		} {
			ctx := context.WithValue(t.Context(), callKey{}, &Call{Token: c.token})
			give, err := a.takeMemory(ctx, c.e, http.NewResponseController(httptest.NewRecorder()), httptest.NewRequest("POST", "/", nil))
			if core.CodeOf(err) != c.code {
				t.Errorf("%+v with %v: got error %v, want code %q", c.e, c.token.Scopes, err, c.code)
			}
			if err == nil {
				give()
			}
		}
	})
}

// Each of these clients has sent nothing yet of a body whose length it does not say.
func TestBodiesThatDoNotComeHoldUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &API{memory: memory.NewKinds(), workerMemory: memory.NewKinds()}
		take := func(namespace, method string, length int64) (*Call, func()) {
			c := &Call{Token: access.Token{Namespace: namespace, Scopes: []access.Scope{access.ScopeAdmin}}}
			r := httptest.NewRequest(method, "/", nil)
			r.ContentLength = length
			give, err := a.takeMemory(context.WithValue(t.Context(), callKey{}, c), Endpoint{Scope: access.ScopeRead, MaxBody: 4 << 20}, http.NewResponseController(httptest.NewRecorder()), r)
			if err != nil {
				t.Fatalf("%s of %s with %d bytes: %v", method, namespace, length, err)
			}
			return c, give
		}
		var slow []*Call
		for _, namespace := range []string{"a", "b", "c", "d"} {
			for range 1024 {
				c, give := take(namespace, http.MethodPost, -1)
				defer give()
				slow = append(slow, c)
			}
		}
		for _, namespace := range []string{"a", "e"} {
			_, give := take(namespace, http.MethodGet, 0)
			give()
		}
		for i, c := range slow { // now more comes of some
			if i%1024 > 8 {
				continue
			}
			if err, fits := c.takeRest(), i%1024 < 4; (err == nil) != fits {
				t.Errorf("large body %d of %s: %v", i, c.Token.Namespace, err)
			}
		}
	})
}

func TestHoldersOfShares(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*Call{
		"namespace a": {Token: access.Token{Name: "t", Namespace: "a"}},
		"token t":     {Token: access.Token{Name: "t", Namespace: core.AnyNamespace}},
		"namespace b": {Right: attempttoken.Right{Namespace: "b"}},
	} {
		if got := holderOf(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Anyone can send the body of a machine that joins, so it takes no share of others.
func TestAJoinTakesNoMemoryOfOthers(t *testing.T) {
	t.Parallel()
	a := &API{memory: memory.NewKinds(), workerMemory: memory.NewKinds()}
	for range 100 {
		if _, err := a.takeMemory(t.Context(), Endpoint{Join: true, MaxBody: 4 << 20}, nil, httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 1<<20)))); err != nil {
			t.Fatal(err)
		}
	}
}
