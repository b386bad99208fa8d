package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestRequestsOfOneNamespaceLeaveMemoryToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var gives []func()
		take := func(name string, n int64) error {
			give, err := m.take(t.Context(), name, n)
			if err == nil {
				gives = append(gives, give)
			}
			return err
		}
		const most = maxOfOne / pageShare
		for range most {
			if err := take("namespace a", pageShare); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := take("namespace a", pageShare); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "namespace a") || time.Since(began) != memoryWait {
			t.Errorf("one page beyond the share: got error %v after %s", err, time.Since(began))
		}
		for _, name := range []string{"namespace b", "namespace c", "namespace d"} {
			if err := take(name, 1<<40); err != nil { // a larger request takes the whole share of its namespace
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := take("namespace e", leastShare); core.CodeOf(err) != core.Unavailable {
			t.Errorf("a request beyond all memory: got error %v", err)
		}

		went := make(chan error)
		go func() { went <- take("namespace a", pageShare) }()
		synctest.Wait()
		gives[0]()
		if err := <-went; err != nil {
			t.Errorf("a request that waits for another: %v", err)
		}
		for _, give := range gives[1:] {
			give()
		}
		if len(m.of) != 0 {
			t.Errorf("holders without requests: %v", m.of)
		}
		if !m.all.TryAcquire(maxInProgress) {
			t.Error("memory is taken without requests")
		}
	})
}

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
		a := &API{memory: newMemory(), workerMemory: newMemory()}
		if err := a.memory.all.Acquire(t.Context(), maxInProgress); err != nil {
			t.Fatal(err)
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
