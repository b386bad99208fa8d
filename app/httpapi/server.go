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

// Options of a [Server]. Service and Auth must be given.
type Options struct {
	Service Service
	Auth    Authenticator

	// Abilities that a node may have besides. A route whose ability is missing
	// says so.
	Links     Links    // answers the key of a link; usually the Service
	Prober    Prober   // tries checks
	Notifier  Notifier // tests channels
	Secrets   Secrets  // for both; usually the Service
	Audit     Recorder // keeps who was refused and who enqueued; usually the Service; default: none
	Calls     Calls    // counts calls by the quotas of namespaces; usually the Service; nil: none has one
	Attempts  Attempts // lets programs be run by who holds no more than the right to one attempt; usually the Service
	PublicURL string   // where people reach this node; for messages of tests

	// ByTicket are queues that have a broker. Workers claim their jobs by its
	// tickets, and in no other way.
	ByTicket []string

	Metrics       http.Handler // served at /metrics; nil: there is no such path
	MetricsPublic bool         // serve them to everybody; otherwise they want the scope read
	Observe       func(Request)

	// Artifacts, if set, serves links to artifacts below /artifacts/. It asks for
	// nothing but the link, and has limits of its own.
	Artifacts http.Handler

	// Pages, if set, serves what is public: status pages, without any token.
	Pages http.Handler
	// Subscribe, if set, takes subscriptions of visitors to status pages and ends them, without any token.
	Subscribe http.Handler
	// Answers, if set, is shown to people where links to signals and approvals lead, without any token.
	Answers http.Handler
	// Console, if set, answers for all paths that nothing else is at: pages
	// for people, which sign in. It guards itself. It is called once, with the
	// server that is being made.
	Console func(s *Server) (http.Handler, error)

	Logger  *slog.Logger // default: the default logger
	Version string       // of Belfry, as the OpenAPI document and the docs page show it

	// Alive, if set, is asked by /healthz: an error is a fault that lies in this
	// process and that another would not have. One that lasts makes it fail.
	Alive func(ctx context.Context) error
	// Unwell, if set, says of which kinds this node's worker cannot begin jobs at
	// the moment, and why. /readyz shows it, and the node stays ready: others run
	// these jobs.
	Unwell func() map[task.Kind]string
	// LeftBehind, if set, says how many attempts of jobs and tries of alerts run
	// on this node though they had to stop. /readyz shows it, and the node stays
	// ready: it goes on without them.
	LeftBehind func() (attempts, alerts int)
	// Outdated, if set, is asked by /healthz too: an error says that only a newer
	// program can go on, and makes it fail at once.
	Outdated func() error
	// Ready is asked by /readyz besides the service.
	Ready func(ctx context.Context) error
	// MaxLag is how late the most overdue schedule may be before /readyz says
	// that the node is not ready. 0: lag is shown but never counts, because a
	// node that only serves the API is fine while no engine runs elsewhere.
	MaxLag time.Duration

	MaxBody    int64 // bytes of a request body; default: 4 MiB
	MaxApply   int64 // bytes of a manifest; default: 16 MiB
	MaxStreams int   // event and log streams at the same time, a tenth of them for one token; default: 1000

	BodyTimeout time.Duration // for a client to send the body of a request; default: 30s

	// HTTPS says that clients reach this server by https alone, directly or
	// through a proxy. Answers then tell browsers to stay with it.
	HTTPS bool
	// Check, if set, is another check that /readyz shows. It does not count: a node
	// that works is ready.
	Check func() core.Check

	// TrustedProxies are believed when they say where a request comes from, in
	// X-Forwarded-For or Forwarded. Default: the peer of the connection counts.
	TrustedProxies []netip.Prefix

	// Hosts lists the host names, without ports, that requests may be
	// addressed to; empty: any. A server on loopback should list its own, or a
	// web page can reach it through a name that resolves to 127.0.0.1.
	Hosts []string
	// Origins lists web origins, such as https://ops.example.com, whose pages
	// may send changes. The server's own may always.
	Origins []string
}

// Request is what [Options.Observe] is told of each request that was answered.
type Request = api.Request

// Server serves the API.
type Server struct {
	api     *api.API
	handler http.Handler
}

// New makes a server. It starts nothing.
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
		Auth: o.Auth, Audit: o.Audit, Attempts: o.Attempts, Calls: o.Calls, Observe: o.Observe, Logger: o.Logger, Version: o.Version,
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

// routes registers those of all areas.
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

// servePlain is the routes that the OpenAPI document does not list, and that no
// area has.
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

// static serves a document that never changes while the server runs. It is written for the first request: the OpenAPI
// document takes longer than the rest of a start.
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

// Handler serves everything. It may be mounted under a prefix with
// [http.StripPrefix].
func (s *Server) Handler() http.Handler { return s.handler }

// HTTPServer is a server for addr with timeouts that fit: none for a whole
// answer, because streams and claims wait, but one for each of its parts. Its
// Shutdown ends what waits.
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

// Streams is how many are open.
func (s *Server) Streams() int64 { return int64(s.api.Streams.Open()) }

// Close ends streams and waiting claims. Other requests are not touched; new
// ones are served. It may be called more than once.
func (s *Server) Close() {
	s.api.Close()
}

// Transport carries the calls of a [client.Client] to the server in this process,
// without a socket. They are authenticated, checked, limited and measured as
// any other. A call made while a request of a browser is answered comes from
// the browser's address, as it was found out there. The host name of a call does not matter.
func (s *Server) Transport() http.RoundTripper { return s.api.Transport() }
