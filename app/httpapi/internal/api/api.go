// Package api is the frame of the API server. It authorizes requests, registers and describes
// routes, reads requests and answers errors. The packages beside it serve one area each.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/internal/memory"
)

// Options of the frame. Package httpapi documents them.
type Options struct {
	Auth           Authenticator
	Audit          Recorder
	Attempts       Attempts
	Calls          Calls
	Observe        func(Request)
	Logger         *slog.Logger
	Version        string
	Now            func() time.Time
	MaxBody        int64
	MaxStreams     int
	BodyTimeout    time.Duration
	HTTPS          bool
	TrustedProxies []netip.Prefix
	Hosts          []string
	Origins        []string
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(Request) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 1000
	}
	return o
}

// API holds all routes and the state that they share.
type API struct {
	Options Options
	Guard   *guard
	Mux     *http.ServeMux
	Huma    huma.API
	Signing signing
	Trials  *rate.Limiter // limits calls that send a test to another system
	Streams streams
	Console http.Handler // serves all paths without a route; may be nil

	visitors visitors
	notes    notes
	outage   outage

	memory       memory.Kinds // of requests but those of workers
	workerMemory memory.Kinds
	// versioned are the paths whose answers have a version.
	versioned map[string]bool

	Stopping context.Context // done once the server stops; ends streams and waiting calls
	stop     context.CancelFunc

	Body   time.Duration // time limit to read a body
	Beat   time.Duration // interval of keep-alives on a quiet stream
	Look   time.Duration // interval of reads of a followed log
	Health time.Duration // interval of database checks for callers without a token
}

// New makes an API without routes.
func New(o Options) (*API, error) {
	if o.Auth == nil {
		return nil, errors.New("httpapi: Auth must be given")
	}
	o = o.withDefaults()
	a := &API{
		Options:   o,
		Guard:     newGuard(o.Auth, o.Now),
		versioned: map[string]bool{},
		memory:    memory.NewKinds(), workerMemory: memory.NewKinds(),
		Signing: signing{From: o.Attempts},
		Mux:     http.NewServeMux(),
		Trials:  rate.NewLimiter(trialsPerSecond, TrialsAtOnce),
		Body:    o.BodyTimeout,
		Beat:    15 * time.Second,
		Look:    500 * time.Millisecond,
		Health:  time.Second,
	}
	a.notes.To = o.Audit
	a.notes.Fail = func(err error) { o.Logger.Warn("refusals and enqueues were not recorded in the audit", "error", err) }
	a.Stopping, a.stop = context.WithCancel(context.Background())
	a.Huma = newAPI(a.Mux, o.Version)
	a.Huma.UseMiddleware(a.checked)
	return a, nil
}

// Handler serves all registered routes.
func (a *API) Handler() (http.Handler, error) { return a.wrap(http.HandlerFunc(a.route)) }

// Close ends streams and waiting claims. Other requests go on, and new requests
// are served. Close may be called more than once.
func (a *API) Close() {
	a.stop()
	a.notes.Flush()
}

// Until returns ctx, which also ends when the server stops.
func (a *API) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	release := context.AfterFunc(a.Stopping, cancel)
	return ctx, func() { release(); cancel() }
}

// Request describes an answered request to [Options.Observe].
type Request struct {
	Route    string // method and pattern, such as "GET /v1/tasks/{name}", or "none"
	Status   int
	Duration time.Duration
}

// Guarded serves h to tokens with the scope read for all namespaces. what names the resource in errors.
func (a *API) Guarded(h http.Handler, what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := a.authorize(r.Context(), r, access.ScopeRead)
		if err == nil {
			err = Everywhere(CallOf(r.Context()).Token, what)
		}
		if err != nil {
			a.Refuse(r.Context(), w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}
