package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/alerts"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/definitions"
	"github.com/belfry-run/belfry/app/httpapi/internal/docs"
	"github.com/belfry-run/belfry/app/httpapi/internal/health"
	"github.com/belfry-run/belfry/app/httpapi/internal/jobs"
	"github.com/belfry-run/belfry/app/httpapi/internal/monitors"
	"github.com/belfry-run/belfry/app/httpapi/internal/programs"
	"github.com/belfry-run/belfry/app/httpapi/internal/schedules"
	"github.com/belfry-run/belfry/app/httpapi/internal/tasks"
	"github.com/belfry-run/belfry/app/httpapi/internal/views"
	"github.com/belfry-run/belfry/app/httpapi/internal/workers"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Options of a [Server]. Service and Auth are required.
type Options struct {
	Service Service
	Auth    Authenticator

	// Optional abilities of a node. A route whose ability is missing answers with
	// an error that says so.
	Links     Links    // resolves the keys of links; usually the Service
	Prober    Prober   // tries checks
	Notifier  Notifier // tests channels
	Secrets   Secrets  // for Prober and Notifier; usually the Service
	Audit     Recorder // records refusals and enqueued jobs; usually the Service; default: none
	Calls     Calls    // counts calls by the quotas of namespaces; usually the Service; nil: no quotas
	Attempts  Attempts // serves programs that hold only the token of one attempt; usually the Service
	PublicURL string   // address of this node for people; for messages of tests

	// ByTicket are queues with a broker. Workers claim their jobs only with
	// tickets.
	ByTicket []string

	Metrics       http.Handler // served at /metrics; nil: not served
	MetricsPublic bool         // serves metrics without a token; otherwise they require the scope read
	Observe       func(Request)

	// Artifacts, if set, serves links to artifacts below /artifacts/. A link needs
	// no other authorization. The handler has time limits of its own.
	Artifacts http.Handler

	// Pages, if set, serves public status pages, without a token.
	Pages http.Handler
	// Subscribe, if set, creates and deletes subscriptions of visitors to status pages, without a token.
	Subscribe http.Handler
	// Answers, if set, serves the pages of links to signals and approvals, without a token.
	Answers http.Handler
	// Console, if set, returns the handler of all paths without a route: pages
	// for people, who sign in. The handler authenticates its users itself. Console
	// is called once, with the new server.
	Console func(s *Server) (http.Handler, error)

	Logger  *slog.Logger     // default: the default logger
	Version string           // of Belfry, as the OpenAPI document and the docs page show it
	Now     func() time.Time // the time of the clock that decides; default: time.Now

	// Alive, if set, is called by /healthz. Its error is a fault of this process
	// that a restart would mend. If the fault lasts, /healthz fails.
	Alive func(ctx context.Context) error
	// Unwell, if set, returns the kinds of jobs that this node's worker cannot
	// start at present, with the reasons. /readyz shows them. The node stays ready:
	// other workers run these jobs.
	Unwell func() map[task.Kind]string
	// LeftBehind, if set, counts the attempts of jobs and tries of alerts that run
	// on this node after their time limit. /readyz shows them. The node stays
	// ready: it goes on without them.
	LeftBehind func() (attempts, alerts int)
	// Outdated, if set, is also called by /healthz. Its error says that the
	// database needs a newer program; /healthz then fails at once.
	Outdated func() error
	// Ready is called by /readyz, in addition to the service.
	Ready func(ctx context.Context) error
	// MaxLag is the scheduler lag above which /readyz reports that the node is not
	// ready. 0: the lag is shown but never counts, because a node that only serves
	// the API is healthy while no engine runs elsewhere.
	MaxLag time.Duration

	MaxBody    int64 // bytes of a request body; default: 4 MiB
	MaxApply   int64 // bytes of a manifest; default: 16 MiB
	MaxStreams int   // concurrent event and log streams; a token may have a tenth of them; default: 1000

	BodyTimeout time.Duration // time limit to read the body of a request; default: 30s

	// HTTPS says that clients reach this server only by https, directly or through
	// a proxy. Answers then carry Strict-Transport-Security.
	HTTPS bool
	// Check, if set, is another check that /readyz shows. If it fails, the node
	// stays ready.
	Check func() core.Check

	// TrustedProxies are proxies whose X-Forwarded-For or Forwarded gives the
	// client address. Default: the client is the peer of the connection.
	TrustedProxies []netip.Prefix

	// Hosts lists the host names, without ports, that requests may be
	// addressed to; empty: any. A server on loopback should list its own, or a
	// web page can reach it through a name that resolves to 127.0.0.1.
	Hosts []string
	// Origins lists web origins, such as https://ops.example.com, whose pages
	// may send changes. The server's own origin is always allowed.
	Origins []string
}

// Request describes an answered request to [Options.Observe].
type Request = api.Request

// Server serves the API.
type Server struct {
	api     *api.API
	handler http.Handler
}

// New returns a server. It starts nothing.
func New(o Options) (*Server, error) {
	if o.Service == nil || o.Auth == nil {
		return nil, errors.New("httpapi: Service and Auth must be given")
	}
	if o.MaxBody < 0 || o.MaxApply < 0 || o.MaxStreams < 0 || o.MaxLag < 0 || o.BodyTimeout < 0 {
		return nil, errors.New("httpapi: limits must not be negative")
	}
	if o.MaxApply == 0 {
		o.MaxApply = 16 << 20
	}
	a, err := api.New(api.Options{
		Auth: o.Auth, Audit: o.Audit, Attempts: o.Attempts, Calls: o.Calls, Observe: o.Observe, Logger: o.Logger, Version: o.Version, Now: o.Now,
		MaxBody: o.MaxBody, MaxStreams: o.MaxStreams, BodyTimeout: o.BodyTimeout,
		HTTPS: o.HTTPS, TrustedProxies: o.TrustedProxies, Hosts: o.Hosts, Origins: o.Origins,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{api: a}
	routes(a, o)
	if err := s.servePlain(o); err != nil {
		return nil, err
	}
	if s.handler, err = a.Handler(); err != nil {
		return nil, err
	}
	return s, nil
}

// routes registers the routes of all areas.
func routes(a *api.API, o Options) {
	tasks.Routes(a, o.Service, tasks.Options{Links: o.Links, People: o.Answers})
	programs.Routes(a, o.Service)
	schedules.Routes(a, o.Service)
	jobs.Routes(a, o.Service)
	workers.Routes(a, o.Service, o.ByTicket)
	monitors.Routes(a, o.Service, monitors.Options{Prober: o.Prober, Secrets: o.Secrets, Subscribe: o.Subscribe})
	alerts.Routes(a, o.Service, alerts.Options{Notifier: o.Notifier, Secrets: o.Secrets, PublicURL: o.PublicURL})
	access.Routes(a, o.Service)
	definitions.Routes(a, o.Service, o.MaxApply)
	views.Routes(a, o.Service)
	health.Routes(a, o.Service, health.Options{
		Alive: o.Alive, Unwell: o.Unwell, LeftBehind: o.LeftBehind, Outdated: o.Outdated, Ready: o.Ready, MaxLag: o.MaxLag, Check: o.Check,
	})
}

// servePlain registers the routes that belong to no area and are not in the
// OpenAPI document.
func (s *Server) servePlain(o Options) error {
	page := func() ([]byte, error) { return docs.Render(s.api.Huma.OpenAPI()) }
	style := func() ([]byte, error) { return docs.Style, nil }
	mux := s.api.Mux
	mux.Handle("GET /openapi.json", static("application/openapi+json", s.specJSON))
	mux.Handle("GET /openapi.yaml", static("application/openapi+yaml", s.api.Huma.OpenAPI().YAML))
	mux.Handle("GET /docs", docs.Policy(static("text/html; charset=utf-8", page)))
	mux.Handle("GET /docs/style.css", static("text/css; charset=utf-8", style))
	if o.Artifacts != nil {
		mux.Handle("/artifacts/", o.Artifacts)
	}
	if o.Pages != nil {
		mux.Handle("GET /status/", o.Pages)
		mux.Handle("GET /status-assets/", o.Pages)
	}
	if o.Console != nil {
		console, err := o.Console(s)
		if err != nil {
			return err
		}
		s.api.Console = console
	}
	if o.Metrics != nil {
		h := o.Metrics
		if !o.MetricsPublic {
			h = s.api.Guarded(h, "metrics")
		}
		mux.Handle("GET /metrics", h)
	}
	return nil
}

func (s *Server) specJSON() ([]byte, error) {
	compact, err := json.Marshal(s.api.Huma.OpenAPI())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, compact, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// static serves a document that does not change while the server runs. It is rendered at the first request, because the
// OpenAPI document takes longer than the rest of a start.
func static(contentType string, write func() ([]byte, error)) http.Handler {
	write = sync.OnceValues(write)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := write()
		if err != nil {
			http.Error(w, "cannot write this document: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(body)
	})
}

// Handler returns the handler of all routes. It may be mounted under a prefix
// with [http.StripPrefix].
func (s *Server) Handler() http.Handler { return s.handler }

// HTTPServer returns a server for addr with suitable timeouts. It has none for a
// whole answer, because streams and claims wait, but limits for its parts.
// Shutdown ends streams and waiting calls.
func (s *Server) HTTPServer(addr string) *http.Server {
	h := &http.Server{
		Addr:              addr,
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.api.Options.Logger.Handler(), slog.LevelDebug),
	}
	h.RegisterOnShutdown(s.Close)
	return h
}

// Streams returns the number of open streams.
func (s *Server) Streams() int64 { return int64(s.api.Streams.Open()) }

// Close ends streams and waiting claims. Other requests go on, and new requests
// are served. Close may be called more than once.
func (s *Server) Close() {
	s.api.Close()
}

// Transport carries the calls of a [client.Client] to the server in this process,
// without a socket. They are authenticated, checked, limited and measured like
// other calls. A call within a request of a browser has the client address of
// that request. The host name of a call is ignored.
func (s *Server) Transport() http.RoundTripper { return s.api.Transport() }
