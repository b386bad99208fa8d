package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// The bytes of bodies and answers that requests may have in progress at once. 64 callers with bodies of 3 MiB had taken a node
// 1.5 GB, and 64 readers of pages of 8 MiB had taken it 1.9 GB: seven and four times the bytes, while a node takes thousands of
// connections.
const (
	maxInProgress = 64 << 20
	maxOfOne      = maxInProgress / 4 // for the tokens of one namespace, or for one token of all
	memoryWait    = HandleTimeout     // longest wait of a request for its share

	pageShare   = 2 << 20   // of a page, which the store ends at as many bytes
	answerShare = 256 << 10 // of another answer
	leastShare  = 4 << 10   // of a request that changes something: its answer is small
)

// memory bounds the bytes of the requests in progress. Requests beyond the bound wait in the order in which they came.
type memory struct {
	all *semaphore.Weighted

	mu sync.Mutex
	of map[string]*memoryShare
}

// memoryShare is the share of one namespace or token, while it has requests.
type memoryShare struct {
	*semaphore.Weighted
	requests int
}

func newMemory() *memory {
	return &memory{all: semaphore.NewWeighted(maxInProgress), of: map[string]*memoryShare{}}
}

// take waits for n bytes for a request of a holder. The request returns them with the returned function.
func (m *memory) take(ctx context.Context, name string, n int64) (give func(), err error) {
	n = min(n, maxOfOne)
	m.mu.Lock()
	h := m.of[name]
	if h == nil {
		h = &memoryShare{Weighted: semaphore.NewWeighted(maxOfOne)}
		m.of[name] = h
	}
	h.requests++
	m.mu.Unlock()
	leave := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.requests--; h.requests == 0 {
			delete(m.of, name)
		}
	}

	wait, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if h.Acquire(wait, n) != nil {
		leave()
		return nil, core.Errorf(core.Unavailable, "too many large requests of %s are in progress", name).
			WithHint("send fewer at once, or smaller ones")
	}
	if m.all.Acquire(wait, n) != nil {
		h.Release(n)
		leave()
		return nil, core.Errorf(core.Unavailable, "too many large requests are in progress").WithHint("try again later")
	}
	return func() {
		m.all.Release(n)
		h.Release(n)
		leave()
	}, nil
}

// takeMemory takes the share of a request. Those of workers have a bound of their own, so that other callers cannot end their
// sessions.
func (a *API) takeMemory(ctx context.Context, e Endpoint, control *http.ResponseController, r *http.Request) (give func(), err error) {
	if e.Waits || e.Timeout < 0 {
		return func() {}, nil
	}
	in := a.memory
	if e.Scope == access.ScopeWorker || e.Also == access.ScopeWorker || e.Attempt || e.Join {
		in = a.workerMemory
	}
	give, err = in.take(ctx, holderOf(CallOf(ctx).Token), e.share(r))
	if err == nil && r.ContentLength != 0 { // the time to send the body begins after the wait
		_ = control.SetReadDeadline(time.Now().Add(a.Body))
	}
	return give, err
}

// HoldPage takes the share of a page, for a route that only sometimes answers one.
func (a *API) HoldPage(ctx context.Context) (give func(), err error) {
	return a.memory.take(ctx, holderOf(CallOf(ctx).Token), pageShare)
}

func holderOf(t access.Token) string {
	if t.Namespace != "" && t.Namespace != core.AnyNamespace {
		return "namespace " + t.Namespace
	}
	return "token " + t.Name
}

// share estimates the bytes of a request: of its body, or of its answer.
func (e Endpoint) share(r *http.Request) int64 {
	switch {
	case r.ContentLength < 0: // the client does not say how long the body is
		return max(e.MaxBody, answerShare)
	case r.ContentLength > 0:
		return max(leastShare, r.ContentLength)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return leastShare
	}
	return cmp.Or(e.answer, answerShare)
}

// answerOf returns the share of an answer of type T, if it is a page.
func answerOf[T any]() int64 {
	if strings.HasPrefix(reflect.TypeFor[T]().Name(), "Page[") {
		return pageShare
	}
	return 0
}
