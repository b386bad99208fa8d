package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/belfry-run/belfry/access"
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
		a := &API{memory: memory.New(), workerMemory: memory.New()}
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, err := a.memory.Take(t.Context(), name, memory.Most); err != nil {
				t.Fatal(err)
			}
		}
		for scope, code := range map[access.Scope]core.Code{access.ScopeRead: core.Unavailable, access.ScopeWorker: ""} {
			give, err := a.takeMemory(context.WithValue(t.Context(), callKey{}, &Call{}), Endpoint{Scope: scope}, http.NewResponseController(httptest.NewRecorder()), httptest.NewRequest("POST", "/", nil))
			if core.CodeOf(err) != code {
				t.Errorf("scope %s: got error %v, want code %q", scope, err, code)
			}
			if err == nil {
				give()
			}
		}
	})
}
