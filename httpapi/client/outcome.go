package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"path"
	"strings"
	"sync/atomic"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
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
		Hint:    a.wayOn(),
		Err:     e,
	}
}

// lost replaces the hint of a server whose database lost an answer by the one for this call.
func (a ask) lost(err error) error {
	var e *core.Error
	if changes(a.method) && errors.As(err, &e) && strings.HasSuffix(e.Hint, wire.RepeatWithKey) {
		e.Hint = a.wayOn()
	}
	return err
}

// wayOn says how to go on after the answer was lost. It names only what the call has.
func (a ask) wayOn() string {
	const done, look = "the change may have been made; ", "look whether it was before you repeat the request"
	switch {
	case a.again || a.method == http.MethodPut:
		return done + "repeat the same request: the change is made once"
	case a.method == http.MethodDelete:
		return done + "repeat the request: what is not found then is deleted"
	case a.path == "/v1/tasks/try":
		return done + look + wire.RepeatWithKey
	case a.path == "/v1/jobs/cancel":
		return done + "repeat the request: jobs that have ended are left as they are; a second cancel of a workflow run ends its cleanup too"
	}
	switch path.Base(a.path) {
	case "pause", "drain", "confirm":
		return done + "repeat the request: it does no harm"
	case "jobs", "run-again", "retry", "trigger", "backfills":
		return done + look + wire.RepeatWithKey
	case "signals":
		return done + look + wire.RepeatWithID
	}
	return done + look
}

// watchConnection returns a context for one call, and a function that reports
// whether the call got a connection: without one nothing was sent.
func watchConnection(ctx context.Context) (context.Context, func() bool) {
	var got atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	}), got.Load
}
