package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/belfry-run/belfry/core"
)

// changes reports whether a call can change something on the server.
func changes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// unanswered returns the error of a call that may have reached the server and
// whose answer was lost.
func (a ask) unanswered(err error) error {
	var e *core.Error
	if !changes(a.method) || !errors.As(err, &e) || e.Code != core.Unavailable {
		return err
	}
	return &core.Error{
		Code:    core.Unknown,
		Message: "the outcome is unknown: " + e.Message,
		Hint:    "the change may have been made; " + a.wayOn(),
		Err:     e,
	}
}

// wayOn says how to go on after the answer was lost.
func (a ask) wayOn() string {
	switch {
	case a.again || a.method == http.MethodPut:
		return "repeat the same request: the change is made once"
	case a.method == http.MethodDelete:
		return "repeat the request: what is not found then is deleted"
	}
	return "look whether it was before you repeat the request; one with an idempotency key can be repeated"
}

// watchConnection returns a context for one call, and a function that reports
// whether the call got a connection: without one nothing was sent.
func watchConnection(ctx context.Context) (context.Context, func() bool) {
	var got atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	}), got.Load
}
