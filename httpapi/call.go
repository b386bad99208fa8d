package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/attempttoken"
)

// call is one request on its way through the server.
type call struct {
	id    string
	w     *recorder
	r     *http.Request
	addr  netip.Addr // where it comes from
	token access.Token
	join  string             // secret of a join token, instead of a token, where a machine joins
	right attempttoken.Right // instead of a token, on the routes of attempts
}

type callKey struct{}

// callOf is the request under this context. Outside of one it is empty.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	broken error // of the first piece that could not be written
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	if err != nil && w.broken == nil {
		w.broken = err
	}
	return n, err
}

// Unwrap lets [http.ResponseController] through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Time limits of the parts of an exchange. Routes that wait have their own.
const (
	handleTimeout = 30 * time.Second // to answer
	writeTimeout  = 30 * time.Second // to write the answer, after that
	sendTimeout   = 10 * time.Second // to write one piece of a stream
)

// wrap puts around the routes what every request needs, outermost last.
func (s *Server) wrap(h http.Handler) (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, origin := range s.opts.Origins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("httpapi: origin %q: %w", origin, err)
		}
	}
	// Who calls a heartbeat brings its key, and nothing that a browser adds by itself.
	for _, prefix := range []string{wire.BeatPrefix, pushPrefix, externalPrefix} {
		cross.AddInsecureBypassPattern(prefix)
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(r.Context(), w, core.Errorf(core.Forbidden, "a page of another origin may not change anything here").
			WithHint("the operator can allow its origin"))
	}))
	return s.observed(s.knownHost(cross.Handler(h))), nil
}

// observed gives a request its id and its deadlines, and sees to it that it
// ends in a status, a log line and a measurement, whatever happens inside.
func (s *Server) observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c := &call{id: requestID(r), w: &recorder{ResponseWriter: w}, addr: clientAddr(r, s.opts.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		c.r = r
		control := http.NewResponseController(w)
		// For the body alone: net/http takes the deadline away once it was read.
		// A ReadTimeout of the whole server would end waiting claims instead.
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(began.Add(s.body))
		}
		_ = control.SetWriteDeadline(began.Add(handleTimeout + writeTimeout))
		setHeaders(w.Header(), c.id)
		if s.opts.HTTPS {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer s.measure(c, began)
		defer func() { s.recovered(c, recover()) }()
		h.ServeHTTP(c.w, r)
	})
}

func setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID is the one that a proxy or client gave, when it is plain, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestIDRule.MatchString(id) {
		return id
	}
	return strings.ToLower(rand.Text()[:16])
}

// recovered turns a panic into an answer, or cuts the connection when the
// answer has begun.
func (s *Server) recovered(c *call, v any) {
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it just so
		panic(v)
	}
	if err, ok := v.(error); ok && c.w.broken != nil && errors.Is(err, c.w.broken) {
		// Huma panics when it cannot write: the client has left, or reads too slowly.
		s.opts.Logger.Debug("answer not read to its end", "request", c.id, "route", routeOf(c.r), "error", err)
		panic(http.ErrAbortHandler)
	}
	s.opts.Logger.Error("handler panicked", "request", c.id, "route", routeOf(c.r), "panic", v, "stack", string(debug.Stack()))
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeProblem(c.w, describe(fmt.Errorf("panic: %v", v), c.id))
}

func (s *Server) measure(c *call, began time.Time) {
	took := time.Since(began)
	status := c.w.status
	if status == 0 {
		status = http.StatusOK
	}
	s.opts.Observe(Request{Route: routeOf(c.r), Status: status, Duration: took})
	path := withoutKey(c.r.URL.Path)
	s.opts.Logger.Debug("request", "request", c.id, "method", c.r.Method, "path", path, "route", routeOf(c.r),
		"status", status, "took", took, "token", c.token.Name, "remote", c.addr)
}

// routeOf names the route without what is in its place holders.
func routeOf(r *http.Request) string {
	if r.Pattern == "" {
		return "none"
	}
	return r.Pattern
}

// knownHost refuses requests that are addressed to a name this server does not have.
func (s *Server) knownHost(h http.Handler) http.Handler {
	if len(s.opts.Hosts) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOnly(r.Host)
		// Probes of a cluster ask for the bare address, and learn nothing worth
		// guarding. Who calls a heartbeat by whatever name brings its key.
		open := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || isBeat(r.URL.Path)
		if !open && !slices.ContainsFunc(s.opts.Hosts, func(known string) bool { return strings.EqualFold(hostOnly(known), host) }) {
			e := core.Errorf(core.Forbidden, "this server does not answer to the host name %q", wire.Shorten(host)).
				WithHint("use one of %s, or add the name to the server's hosts", strings.Join(s.opts.Hosts, ", "))
			s.refuse(r.Context(), w, newProblem(http.StatusMisdirectedRequest, e))
			return
		}
		h.ServeHTTP(w, r)
	})
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = host
	}
	return strings.Trim(hostport, "[]")
}

// route finds the handler, and says in our own words when there is none.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	probe := &probe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if s.console != nil && probe.status != http.StatusMethodNotAllowed && !forPrograms(r) {
		r.Pattern = "console"
		s.console.ServeHTTP(w, r)
		return
	}
	if probe.status == http.StatusMethodNotAllowed {
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		e := core.Errorf(core.Invalid, "%s does not work on %s", r.Method, wire.Shorten(r.URL.Path)).WithHint("it takes %s", allow)
		s.refuse(r.Context(), w, newProblem(http.StatusMethodNotAllowed, e))
		return
	}
	s.refuse(r.Context(), w, core.Errorf(core.NotFound, "there is nothing at %s", wire.Shorten(r.URL.Path)).
		WithHint("/docs lists what there is"))
}

// versionRule tells paths of an API, of whatever version.
var versionRule = regexp.MustCompile(`^/[vV][0-9]+(/|$)`)

// forPrograms tells requests that no person makes in a browser: by their path,
// or because they bring a token. Who calls a heartbeat by a wrong address must
// hear of it, and not be taken to a page for signing in that answers 200.
func forPrograms(r *http.Request) bool {
	path := r.URL.Path
	return r.Header.Get("Authorization") != "" || versionRule.MatchString(path) || slices.ContainsFunc([]string{"/beat/", "/badge/", "/artifacts/"}, func(at string) bool { return strings.HasPrefix(path, at) })
}

// probe learns what a handler would answer.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header { return p.header }

func (p *probe) WriteHeader(status int) { p.status = status }

func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

// refuse answers with an error. It is the one place that logs them.
func (s *Server) refuse(ctx context.Context, w http.ResponseWriter, err error) {
	writeProblem(w, s.fail(ctx, err))
}

func (s *Server) fail(ctx context.Context, err error) *wire.Problem {
	c := callOf(ctx)
	p := describe(err, c.id)
	s.noteRefusal(c, p)
	switch {
	case c.r != nil && c.r.Context().Err() != nil: // who asked has left
		s.opts.Logger.Debug("request abandoned", "request", c.id, "error", err)
	case p.Code == core.Internal:
		s.opts.Logger.Error("request failed", "request", c.id, "route", routeOf(c.r), "error", err, "cause", causeOf(err))
	case p.Code == core.Unknown:
		s.opts.Logger.Warn("outcome of request unknown", "request", c.id, "route", routeOf(c.r), "error", err, "cause", causeOf(err))
	case p.Code == core.Unavailable:
		s.opts.Logger.Warn("request failed for now", "request", c.id, "route", routeOf(c.r), "error", err, "cause", causeOf(err))
	}
	return p
}

// causeOf is what a [core.Error] keeps from its callers.
func causeOf(err error) string {
	var e *core.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return ""
}

// until is ctx that also ends when the server stops.
func (s *Server) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	release := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { release(); cancel() }
}
