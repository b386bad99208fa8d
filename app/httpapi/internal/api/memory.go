package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// Bytes of a request in its share of the memory of requests.
const (
	pageShare   = 2 << 20   // of a page, which the store ends at as many bytes
	answerShare = 256 << 10 // of another answer
	leastShare  = 4 << 10   // of a request that changes something: its answer is small
)

// takeMemory takes the share of a request. Those of workers have a bound of their own, so that other callers cannot end their
// sessions.
func (a *API) takeMemory(ctx context.Context, e Endpoint, control *http.ResponseController, r *http.Request) (give func(), err error) {
	if e.Waits || e.Timeout < 0 || e.Join { // a caller of Join is not known yet: it would take the share of others
		return func() {}, nil
	}
	in := a.memory
	if (e.Scope == access.ScopeWorker || e.Also == access.ScopeWorker) && Allow(CallOf(ctx).Token, access.ScopeWorker) == nil {
		in = a.workerMemory
	}
	c, n := CallOf(ctx), e.share(r)
	if r.ContentLength == 0 {
		return in.Answers.Take(ctx, holderOf(c), n)
	}
	c.takeRest, give, err = in.TakeBody(ctx, holderOf(c), n, func() { _ = control.SetReadDeadline(time.Now().Add(a.Body)) })
	return give, err
}

// HoldPage takes the share of a page, for a route that only sometimes answers one.
func (a *API) HoldPage(ctx context.Context) (give func(), err error) {
	return a.memory.Answers.Take(ctx, holderOf(CallOf(ctx)), pageShare)
}

// holderOf names whose share a request takes. A program that has the token of its attempt, and need not be trusted, takes that of
// its namespace.
func holderOf(c *Call) string {
	ns := cmp.Or(c.Right.Namespace, c.Token.Namespace)
	if ns != "" && ns != core.AnyNamespace {
		return "namespace " + ns
	}
	return "token " + c.Token.Name
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
