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

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Options of a [Server]. Service and Auth must be given.
type Options struct {
	Service Service
	Auth    Authenticator

	// What a node may be able to do besides. A route whose ability is missing
	// says so.
	Prober    Prober   // tries checks
	Notifier  Notifier // tests channels
	Secrets   Secrets  // for both; usually the Service
	Audit     Recorder // keeps who was refused and who enqueued; usually the Service; default: nobody
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
type Request struct {
	Route    string // method and pattern, such as "GET /v1/tasks/{name}", or "none"
	Status   int
	Duration time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Service == nil || o.Auth == nil {
		return o, errors.New("httpapi: Service and Auth must be given")
	}
	if o.MaxBody < 0 || o.MaxApply < 0 || o.MaxStreams < 0 || o.MaxLag < 0 || o.BodyTimeout < 0 {
		return o, errors.New("httpapi: limits must not be negative")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(Request) {}
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.MaxApply == 0 {
		o.MaxApply = 16 << 20
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 1000
	}
	return o, nil
}

// Server serves the API.
type Server struct {
	opts     Options
	service  Service
	guard    *guard
	mux      *http.ServeMux
	api      huma.API
	handler  http.Handler
	console  http.Handler // or nil
	sessions sessionOwners
	signing  signing
	health   healthMemo
	vitality vitality
	badges   badgeMemo
	trials   *rate.Limiter // what sends something out because somebody asked
	streams  streams
	notes    notes
	// versioned are the paths whose answers have a version.
	versioned map[string]bool

	stopping context.Context // ends all that waits
	stop     context.CancelFunc

	body time.Duration // to read a body
	beat time.Duration // between signs of life on a quiet stream
	look time.Duration // between looks at a log that is followed
}

// New makes a server. It starts nothing.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:      o,
		service:   o.Service,
		guard:     newGuard(o.Auth),
		versioned: map[string]bool{},
		signing:   signing{from: o.Attempts},
		mux:       http.NewServeMux(),
		health:    healthMemo{keep: time.Second},
		vitality:  vitality{look: o.Alive, keep: time.Second},
		badges:    badgeMemo{keep: 10 * time.Second},
		trials:    rate.NewLimiter(trialsPerSecond, trialsAtOnce),
		body:      o.BodyTimeout,
		beat:      15 * time.Second,
		look:      500 * time.Millisecond,
	}
	s.notes.to = o.Audit
	s.notes.fail = func(err error) { o.Logger.Warn("refusals and enqueues were not recorded in the audit", "error", err) }
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.api = newAPI(s.mux, o.Version)
	s.routes()
	if err := s.servePlain(); err != nil {
		return nil, err
	}
	if s.handler, err = s.wrap(http.HandlerFunc(s.route)); err != nil {
		return nil, err
	}
	return s, nil
}

// routes is every route that the OpenAPI document lists.
func (s *Server) routes() {
	s.taskRoutes()
	s.artifactRoutes()
	s.secretRoutes()
	s.scheduleRoutes()
	s.calendarRoutes()
	s.backfillRoutes()
	s.lookRoutes()
	s.historyRoutes()
	s.cycleRoutes()
	s.monitorRoutes()
	s.incidentRoutes()
	s.pageRoutes()
	s.trialRoutes()
	s.channelRoutes()
	s.alertRoutes()
	s.windowRoutes()
	s.statusPageRoutes()
	s.jobRoutes()
	s.namespaceRoutes()
	s.queueRoutes()
	s.workerRoutes()
	s.tokenRoutes()
	s.joinRoutes()
	s.definitionRoutes()
	s.watchRoutes()
	s.sessionRoutes()
	s.attemptRoutes()
	s.healthRoutes()
}

// servePlain is the routes that it does not.
func (s *Server) servePlain() error {
	docs := func() ([]byte, error) { return renderDocs(s.api.OpenAPI()) }
	style := func() ([]byte, error) { return docsStyle, nil }
	s.mux.Handle("GET /openapi.json", static("application/openapi+json", s.specJSON))
	s.mux.Handle("GET /openapi.yaml", static("application/openapi+yaml", s.api.OpenAPI().YAML))
	s.mux.Handle("GET /docs", docsPolicy(static("text/html; charset=utf-8", docs)))
	s.mux.Handle("GET /docs/style.css", static("text/css; charset=utf-8", style))
	s.mux.HandleFunc("GET /healthz", s.alive)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.beatRoutes()
	s.foreignBeatRoutes()
	if s.opts.Artifacts != nil {
		s.mux.Handle("/artifacts/", s.opts.Artifacts)
	}
	if s.opts.Pages != nil {
		s.mux.Handle("GET /status/", s.opts.Pages)
		s.mux.Handle("GET /status-assets/", s.opts.Pages)
	}
	if s.opts.Console != nil {
		console, err := s.opts.Console(s)
		if err != nil {
			return err
		}
		s.console = console
	}
	s.mux.HandleFunc("GET /badge/{namespace}/{monitor}/{file}", s.badge)
	if s.opts.Metrics != nil {
		s.mux.Handle("GET /metrics", s.guarded(s.opts.Metrics))
	}
	return nil
}

func (s *Server) specJSON() ([]byte, error) {
	compact, err := json.Marshal(s.api.OpenAPI())
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

// guarded wants the scope read for all namespaces, unless metrics are public.
func (s *Server) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.opts.MetricsPublic {
			_, err := s.authorize(r.Context(), r, access.ScopeRead)
			if err == nil {
				err = everywhere(callOf(r.Context()).token, "metrics")
			}
			if err != nil {
				s.refuse(r.Context(), w, err)
				return
			}
		}
		h.ServeHTTP(w, r)
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
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	h.RegisterOnShutdown(s.Close)
	return h
}

// Streams is how many are open.
func (s *Server) Streams() int64 { return int64(s.streams.open()) }

// Close ends streams and waiting claims. Other requests are not touched; new
// ones are served. It may be called more than once.
func (s *Server) Close() {
	s.stop()
	s.notes.flush()
}
