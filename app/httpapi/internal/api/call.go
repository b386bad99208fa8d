package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// Call is one request on its way through the server.
type Call struct {
	Id    string
	w     *recorder
	r     *http.Request
	addr  netip.Addr // where it comes from
	Token access.Token
	Join  string             // secret of a join token, instead of a token, where a machine joins
	Right attempttoken.Right // instead of a token, on the routes of attempts
}

type callKey struct{}

// CallOf is the request under this context. Outside of one it is empty.
func CallOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
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
	HandleTimeout = 30 * time.Second // to answer
	WriteTimeout  = 30 * time.Second // to write the answer, after that
	sendTimeout   = 10 * time.Second // to write one piece of a stream
)

// wrap puts around the routes what every request needs, outermost last.
func (a *API) wrap(h http.Handler) (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, origin := range a.Options.Origins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("httpapi: origin %q: %w", origin, err)
		}
	}
	// A call of a heartbeat brings its key, and nothing that a browser adds by itself.
	for _, prefix := range []string{wire.BeatPrefix, PushPrefix, ExternalPrefix} {
		cross.AddInsecureBypassPattern(prefix)
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Refuse(r.Context(), w, core.Errorf(core.Forbidden, "a page of another origin may not change anything here").
			WithHint("the operator can allow its origin"))
	}))
	return a.Observed(a.knownHost(cross.Handler(h))), nil
}

// Observed gives a request its id and its deadlines, and sees to it that it
// ends in a status, a log line and a measurement, whatever happens inside.
func (a *API) Observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c := &Call{Id: requestID(r), w: &recorder{ResponseWriter: w}, addr: clientAddr(r, a.Options.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		c.r = r
		control := http.NewResponseController(w)
		// For the body alone: net/http takes the deadline away once it was read.
		// A ReadTimeout of the whole server would end waiting claims instead.
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(began.Add(a.Body))
		}
		_ = control.SetWriteDeadline(began.Add(HandleTimeout + WriteTimeout))
		setHeaders(w.Header(), c.Id)
		if a.Options.HTTPS {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer a.measure(c, began)
		defer func() { a.recovered(c, recover()) }()
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
func (a *API) recovered(c *Call, v any) {
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it just so
		panic(v)
	}
	if err, ok := v.(error); ok && c.w.broken != nil && errors.Is(err, c.w.broken) {
		// Huma panics when it cannot write: the client has left, or reads too slowly.
		a.Options.Logger.Debug("answer not read to its end", "request", c.Id, "route", routeOf(c.r), "error", err)
		panic(http.ErrAbortHandler)
	}
	a.Options.Logger.Error("handler panicked", "request", c.Id, "route", routeOf(c.r), "panic", v, "stack", string(debug.Stack()))
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	WriteProblem(c.w, Describe(fmt.Errorf("panic: %v", v), c.Id))
}

func (a *API) measure(c *Call, began time.Time) {
	took := time.Since(began)
	status := c.w.status
	if status == 0 {
		status = http.StatusOK
	}
	a.Options.Observe(Request{Route: routeOf(c.r), Status: status, Duration: took})
	path := withoutKey(c.r.URL.Path)
	a.Options.Logger.Debug("request", "request", c.Id, "method", c.r.Method, "path", path, "route", routeOf(c.r),
		"status", status, "took", took, "token", c.Token.Name, "remote", c.addr)
}

// routeOf names the route without what is in its place holders.
func routeOf(r *http.Request) string {
	if r.Pattern == "" {
		return "none"
	}
	return r.Pattern
}

// knownHost refuses requests that are addressed to a name this server does not have.
func (a *API) knownHost(h http.Handler) http.Handler {
	if len(a.Options.Hosts) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOnly(r.Host)
		// Probes of a cluster ask for the bare address, and learn nothing worth
		// guarding. A call of a heartbeat by any name brings its key.
		open := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || isBeat(r.URL.Path)
		if !open && !slices.ContainsFunc(a.Options.Hosts, func(known string) bool { return strings.EqualFold(hostOnly(known), host) }) {
			e := core.Errorf(core.Forbidden, "this server does not answer to the host name %q", wire.Shorten(host)).
				WithHint("use one of %s, or add the name to the server's hosts", strings.Join(a.Options.Hosts, ", "))
			a.Refuse(r.Context(), w, newProblem(http.StatusMisdirectedRequest, e))
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
func (a *API) route(w http.ResponseWriter, r *http.Request) {
	h, pattern := a.Mux.Handler(r)
	if fault := queryFault(r); fault != nil {
		a.Refuse(r.Context(), w, fault)
		return
	}
	if pattern != "" {
		a.Mux.ServeHTTP(w, r)
		return
	}
	probe := &Probe{Sent: http.Header{}}
	h.ServeHTTP(probe, r)
	if a.Console != nil && probe.Status != http.StatusMethodNotAllowed && !forPrograms(r) {
		r.Pattern = "console"
		a.Console.ServeHTTP(w, r)
		return
	}
	if probe.Status == http.StatusMethodNotAllowed {
		allow := probe.Sent.Get("Allow")
		w.Header().Set("Allow", allow)
		e := core.Errorf(core.Invalid, "%s does not work on %s", r.Method, wire.Shorten(r.URL.Path)).WithHint("it takes %s", allow)
		a.Refuse(r.Context(), w, newProblem(http.StatusMethodNotAllowed, e))
		return
	}
	a.Refuse(r.Context(), w, core.Errorf(core.NotFound, "there is nothing at %s", wire.Shorten(r.URL.Path)).
		WithHint("/docs lists what there is"))
}

// queryFault refuses a query of the API that is no text: one database would take it, and another not.
func queryFault(r *http.Request) error {
	if !versionRule.MatchString(r.URL.Path) {
		return nil
	}
	for name, values := range r.URL.Query() {
		if err := textFault(name, append(values, name)...); err != nil {
			return err
		}
	}
	return nil
}

// textFault refuses what no database keeps as a text.
func textFault(field string, values ...string) error {
	for _, value := range values {
		if !core.IsText(value) {
			return core.InvalidField(wire.Shorten(strings.ToValidUTF8(field, "�")), "", "is not text in UTF-8 without NUL characters", "remove the character")
		}
	}
	return nil
}

// versionRule tells paths of an API, of whatever version.
var versionRule = regexp.MustCompile(`^/[vV][0-9]+(/|$)`)

// forPrograms tells requests that no person makes in a browser: by their path,
// or because they bring a token. A caller of a heartbeat by a wrong address must
// hear of it, and not be taken to a page for signing in that answers 200.
func forPrograms(r *http.Request) bool {
	path := r.URL.Path
	return r.Header.Get("Authorization") != "" || versionRule.MatchString(path) || slices.ContainsFunc([]string{"/beat/", "/badge/", "/artifacts/"}, func(at string) bool { return strings.HasPrefix(path, at) })
}

// Probe learns what a handler would answer.
type Probe struct {
	Sent   http.Header
	Status int
}

func (p *Probe) Header() http.Header { return p.Sent }

func (p *Probe) WriteHeader(status int) { p.Status = status }

func (p *Probe) Write(b []byte) (int, error) { return len(b), nil }

// Refuse answers with an error. It is the one place that logs them.
func (a *API) Refuse(ctx context.Context, w http.ResponseWriter, err error) {
	WriteProblem(w, a.Fail(ctx, err))
}

// Fail logs an error, and returns what a caller may know of it.
func (a *API) Fail(ctx context.Context, err error) *wire.Problem {
	c := CallOf(ctx)
	p := Describe(err, c.Id)
	a.noteRefusal(c, p)
	switch {
	case c.r != nil && c.r.Context().Err() != nil: // who asked has left
		a.Options.Logger.Debug("request abandoned", "request", c.Id, "error", err)
	case p.Status == http.StatusTooManyRequests: // a stranger can cause any number of these
		a.Options.Logger.Debug("request over a limit", "request", c.Id, "route", routeOf(c.r), "error", err)
	case p.Code == core.Internal:
		a.Options.Logger.Error("request failed", "request", c.Id, "route", routeOf(c.r), "error", err, "cause", causeOf(err))
	case p.Code == core.Unknown:
		a.Options.Logger.Warn("outcome of request unknown", "request", c.Id, "route", routeOf(c.r), "error", err, "cause", causeOf(err))
	case p.Code == core.Unavailable:
		level := slog.LevelDebug
		say, more := a.outage.failed(err.Error(), time.Now())
		if say {
			level = slog.LevelWarn
		}
		a.Options.Logger.Log(ctx, level, "request failed for now", "request", c.Id, "route", routeOf(c.r), "error", err, "cause", causeOf(err), "more", more)
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

// read reads a request's body into v.
func (c *Call) read(e Endpoint, v any) error {
	r := c.r
	if e.Bare && (r.Body == nil || r.Body == http.NoBody) {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" && r.ContentLength != 0 {
		e := core.Errorf(core.Invalid, "the body is %s, not JSON", orWords(kind, "of no stated type")).
			WithHint("send the header Content-Type: application/json, as curl --json does")
		return newProblem(http.StatusUnsupportedMediaType, e)
	}
	data, err := c.readAll(e.MaxBody)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		if e.Bare {
			return nil
		}
		return core.Errorf(core.Invalid, "the body is missing").WithHint("send JSON as /docs describes")
	}
	if e.Foreign {
		return body.DecodeForeign(data, v)
	}
	return body.Decode(data, v)
}

// readText reads a request's body of the given type.
func (c *Call) readText(e Endpoint, kind string) ([]byte, error) {
	if got, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); got != kind && c.r.ContentLength != 0 {
		e := core.Errorf(core.Invalid, "the body is %s, not %s", orWords(got, "of no stated type"), kind).
			WithHint("send the header Content-Type: %s", kind)
		return nil, newProblem(http.StatusUnsupportedMediaType, e)
	}
	data, err := c.readAll(e.MaxBody)
	if err == nil && len(data) == 0 {
		err = core.Errorf(core.Invalid, "the body is missing").WithHint("send it as %s", kind)
	}
	return data, err
}

func (c *Call) readAll(limit int64) ([]byte, error) {
	tooLarge := core.Errorf(core.TooLarge, "the body is over the limit of %s", core.SizeText(limit)).
		WithHint("send less at once")
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		e := core.Errorf(core.Unavailable, "the body did not arrive in time")
		return nil, newProblem(http.StatusRequestTimeout, e)
	case err != nil:
		return nil, core.Errorf(core.Invalid, "the body ended early")
	}
	return data, nil
}

// tag gives an answer its ETag.
func (c *Call) tag(v any) {
	if d, is := v.(versioned); is && d.Version() != "" {
		c.w.Header().Set("ETag", `"`+d.Version()+`"`)
	}
}
