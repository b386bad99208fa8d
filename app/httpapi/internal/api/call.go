package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
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
	"github.com/belfry-run/belfry/app/internal/memory"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// Call is a request while the server handles it.
type Call struct {
	Id    string
	w     *recorder
	r     *http.Request
	addr  netip.Addr // of the client
	Token access.Token
	Join  string             // secret of a join token; replaces Token on the route where a machine joins
	Right attempttoken.Right // replaces Token on the routes of attempts

	takeRest func() error // takes the memory of a body whose first bytes have come; nil if the route needs none
}

type callKey struct{}

// CallOf returns the call of a context, or an empty call.
func CallOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}

// recorder records the status and the first write error of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	broken error // of the first failed write
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

// Unwrap gives [http.ResponseController] the writer of the server.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Time limits of the parts of a request. Routes that wait have limits of their own.
const (
	HandleTimeout = 30 * time.Second // of the handler
	WriteTimeout  = 30 * time.Second // to write the answer, after HandleTimeout
	sendTimeout   = 10 * time.Second // to write one event of a stream
)

// wrap adds the middleware of all requests, outermost last.
func (a *API) wrap(h http.Handler) (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, origin := range a.Options.Origins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("httpapi: origin %q: %w", origin, err)
		}
	}
	// Calls of heartbeats are authenticated by a key alone; a browser adds no credentials to them.
	for _, prefix := range []string{wire.BeatPrefix, PushPrefix, ExternalPrefix} {
		cross.AddInsecureBypassPattern(prefix)
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Refuse(r.Context(), w, core.Errorf(core.Forbidden, "a page of another origin may not change anything here").
			WithHint("the operator can allow its origin"))
	}))
	return a.Observed(a.knownHost(cross.Handler(h))), nil
}

// Observed gives a request its id and its deadlines. Each request ends in a
// status, a log line and a measurement, even if its handler panics.
func (a *API) Observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c := &Call{Id: requestID(r), w: &recorder{ResponseWriter: w}, addr: clientAddr(r, a.Options.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		c.r = r
		control := http.NewResponseController(w)
		// The deadline covers the body alone: net/http removes it once the body is read.
		// A ReadTimeout of the whole server would also end waiting claims.
		var body *sent
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(began.Add(a.Body))
			body = &sent{ReadCloser: r.Body}
			r.Body = body
		}
		_ = control.SetWriteDeadline(began.Add(HandleTimeout + WriteTimeout))
		setHeaders(w.Header(), c.Id)
		if a.Options.HTTPS {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer func() { body.linger(control, r) }() // last, because it may take long
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

// requestID returns the id that a proxy or client gave, if it is well-formed, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestIDRule.MatchString(id) {
		return id
	}
	return strings.ToLower(rand.Text()[:16])
}

// recovered turns a panic into an error answer. If the answer has begun, it
// aborts the connection.
func (a *API) recovered(c *Call, v any) {
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
		panic(v)
	}
	if err, ok := v.(error); ok && c.w.broken != nil && errors.Is(err, c.w.broken) {
		// Huma panics on a failed write: the client has disconnected, or reads too slowly.
		a.Options.Logger.Debug("answer was not read to its end", "request", c.Id, "route", routeOf(c.r), "error", err)
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

// routeOf names the route by its pattern, without the values of placeholders.
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
		// Probes of a cluster use the bare address, and health answers hold nothing
		// secret. Calls of heartbeats are authenticated by their key, under any host name.
		open := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || isBeat(r.URL.Path)
		if !open && !slices.ContainsFunc(a.Options.Hosts, func(known string) bool { return strings.EqualFold(hostOnly(known), host) }) {
			e := core.Errorf(core.Forbidden, "this server does not answer to the host name %q", wire.Shorten(host)).
				WithHint("use one of %s, or start the node with the name in --public-url, or with --behind-proxy", strings.Join(a.Options.Hosts, ", "))
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

// route calls the handler of a request. Without one, it answers with an error of the API.
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

// queryFault refuses a query of the API with invalid text, which only some databases accept.
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

// textFault refuses values that not every database stores as text: invalid UTF-8 and NUL.
func textFault(field string, values ...string) error {
	for _, value := range values {
		if !core.IsText(value) {
			return core.InvalidField(wire.Shorten(strings.ToValidUTF8(field, "�")), "", "is not text in UTF-8 without NUL characters", "remove the character")
		}
	}
	return nil
}

// versionRule matches the paths of any version of the API.
var versionRule = regexp.MustCompile(`^/[vV][0-9]+(/|$)`)

// forPrograms reports whether a program sent the request, not a browser: by its
// path, or because it carries a token. A heartbeat call to a wrong address must
// fail, and not get the sign-in page with status 200.
func forPrograms(r *http.Request) bool {
	path := r.URL.Path
	return r.Header.Get("Authorization") != "" || versionRule.MatchString(path) || slices.ContainsFunc([]string{"/beat/", "/badge/", "/artifacts/"}, func(at string) bool { return strings.HasPrefix(path, at) })
}

// Probe records the status and headers of a handler, without sending them.
type Probe struct {
	Sent   http.Header
	Status int
}

func (p *Probe) Header() http.Header { return p.Sent }

func (p *Probe) WriteHeader(status int) { p.Status = status }

func (p *Probe) Write(b []byte) (int, error) { return len(b), nil }

// Refuse logs an error and answers with it.
func (a *API) Refuse(ctx context.Context, w http.ResponseWriter, err error) {
	WriteProblem(w, a.Fail(ctx, err))
}

// Fail logs an error, and returns the part of it that a caller may see.
func (a *API) Fail(ctx context.Context, err error) *wire.Problem {
	c := CallOf(ctx)
	p := Describe(err, c.Id)
	a.noteRefusal(c, p)
	switch {
	case c.r != nil && c.r.Context().Err() != nil: // the client has disconnected
		a.Options.Logger.Debug("request abandoned", "request", c.Id, "error", err)
	case p.Status == http.StatusTooManyRequests: // callers without a token can cause any number of these
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

// causeOf returns the cause of a [core.Error], which callers do not see.
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
	err = body.Decode(data, v)
	if checker, is := v.(givenChecker); is && err == nil {
		err = checker.CheckGiven(func(field string) bool { return given(data, field) })
	}
	return err
}

// givenChecker is a body for which a zero field differs from a missing one.
type givenChecker interface {
	CheckGiven(given func(field string) bool) error
}

// given reports whether a body has a field.
func given(data []byte, field string) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // it was decoded before
	v, there := fields[field]
	return there && string(v) != "null"
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
	var data bytes.Buffer
	body := http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, limit)
	n, err := data.ReadFrom(io.LimitReader(body, memory.First))
	if err == nil && n == memory.First {
		if c.takeRest != nil {
			if err := c.takeRest(); err != nil {
				return nil, err
			}
		}
		_, err = data.ReadFrom(body)
	}
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
	return data.Bytes(), nil
}

// tag sets the ETag of an answer.
func (c *Call) tag(v any) {
	if d, is := v.(versioned); is && d.Version() != "" {
		c.w.Header().Set("ETag", `"`+d.Version()+`"`)
	}
}
