package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/gather"
)

// server makes the calls to a server.
type server struct {
	base  string
	token string
	fresh func() string // if set, returns the current token
	opts  Options

	// Renewals have their own connections, so that no large transfer delays the
	// renewal of a session.
	calls  *http.Client
	renews *http.Client

	keyed, unkeyed gather.Calls // of Enqueue
}

func (c *server) closeIdleConnections() {
	c.calls.CloseIdleConnections()
	c.renews.CloseIdleConnections()
}

// ask describes one call.
type ask struct {
	method  string
	path    string
	query   url.Values
	body    any
	timeout time.Duration // of each try
	again   bool          // the call can be repeated without harm
	renewal bool
	token   string // instead of the client's
}

// do makes the call, repeats it if that helps, and decodes the answer into out.
func (c *server) do(ctx context.Context, a ask, out any) error {
	body, err := bodyOf(a)
	if err != nil {
		return err
	}
	var lost error // error of a try that may have made the change
	for try := 1; ; try++ {
		err := c.try(ctx, a, body, out)
		switch {
		case core.CodeOf(err) == core.Unknown:
			lost = err
		case lost != nil && core.CodeOf(err) == core.Unavailable:
			err = lost // this try changed nothing, but the earlier one may have
		}
		if err == nil || !a.again || try == tries || !passing(err) || ctx.Err() != nil {
			return err
		}
		wait := c.opts.RetryWait << (try - 1)
		if wire.Pause(ctx, wait/2+rand.N(wait+1)) != nil {
			return err
		}
	}
}

// passing reports whether an error is temporary, so that a repeated call may succeed.
func passing(err error) bool {
	code := core.CodeOf(err)
	return code == core.Unavailable || code == core.Unknown
}

// bodyText is a body that is sent unchanged. An empty type means no body.
type bodyText struct {
	kind string
	text []byte
}

// bodyOf returns the body of a call as bytes: JSON, unless it is a bodyText.
func bodyOf(a ask) (bodyText, error) {
	switch v := a.body.(type) {
	case nil:
		return bodyText{}, nil
	case bodyText:
		return v, nil
	}
	text, err := encode(a.body)
	return bodyText{"application/json", text}, err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, core.Errorf(core.Invalid, "this cannot be written as JSON: %w", err)
	}
	return b.Bytes(), nil
}

func (c *server) try(ctx context.Context, a ask, body bodyText, out any) error {
	timeout := a.timeout
	if timeout == 0 {
		timeout = c.opts.Timeout
	}
	trying, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	trying, connected := watchConnection(trying)
	resp, err := c.send(trying, a, body)
	if err != nil {
		if connected() || c.opts.Transport != nil {
			return a.unanswered(c.unreachable(ctx, err, timeout))
		}
		return c.unreachable(ctx, err, timeout)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxResponse+1))
	switch {
	case err != nil:
		return a.unanswered(c.unreachable(ctx, err, timeout))
	case int64(len(data)) > c.opts.MaxResponse:
		code := core.TooLarge
		if resp.StatusCode < 300 && changes(a.method) { // the change was made
			code = core.Unknown
		}
		return core.Errorf(code, "the answer is over the limit of %s", core.SizeText(c.opts.MaxResponse)).
			WithHint("ask for less at once, with a limit")
	case resp.StatusCode >= 300:
		return a.lost(c.refusal(resp, data))
	case out == nil || resp.StatusCode == http.StatusNoContent:
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" {
		return c.notBelfry(resp)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return core.Errorf(core.Internal, "the answer of %s cannot be read: %w", c.base, err).
			WithHint("are client and server of the same version?")
	}
	return nil
}

func (c *server) send(ctx context.Context, a ask, body bodyText) (*http.Response, error) {
	address := c.base + a.path
	if len(a.query) > 0 {
		address += "?" + a.query.Encode()
	}
	var reader io.Reader
	if body.kind != "" {
		reader = bytes.NewReader(body.text)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, address, reader)
	if err != nil {
		return nil, err
	}
	if body.kind != "" {
		req.Header.Set("Content-Type", body.kind)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if version := core.VersionOf(ctx); version != "" && (a.method == http.MethodPut || a.method == http.MethodDelete) {
		req.Header.Set("If-Match", `"`+version+`"`)
	}
	token := c.token
	if c.fresh != nil {
		token = c.fresh()
	}
	if a.token != "" {
		token = a.token
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if a.again {
		// Not sent. It allows net/http to repeat the request itself if the server
		// had just closed the connection.
		req.Header["Idempotency-Key"] = []string{}
	}
	if a.renewal {
		return c.renews.Do(req)
	}
	return c.calls.Do(req)
}

// refusal decodes an error of the server.
func (c *server) refusal(resp *http.Response, data []byte) error {
	var p wire.Problem
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != wire.ProblemType || json.Unmarshal(data, &p) != nil || p.Code == "" {
		return c.notBelfry(resp)
	}
	e := p.AsError()
	if resp.StatusCode != wire.StatusOf(e.Code) {
		e.Err = wire.Answered(resp.StatusCode)
	}
	if e.Hint == "" || e.Hint == wire.TokenHint {
		// Without this challenge the code means an ended session; the token is valid then.
		if resp.Header.Get("WWW-Authenticate") == wire.TokenChallenge {
			e.Hint = "give a token that is good at " + c.base + " with --token, BELFRY_TOKEN or a token file"
		}
	}
	return e
}

// notBelfry returns the error for an answer that is not from Belfry: from a proxy or another program.
func (c *server) notBelfry(resp *http.Response) error {
	if resp.StatusCode < 300 {
		return core.Errorf(core.Unavailable, "what answers at %s is not Belfry", c.base).WithHint("check the address and its path")
	}
	code := wire.CodeOf(resp.StatusCode)
	if r := resp.Request; code == core.Unknown && r != nil && !changes(r.Method) { // a read has no unknown outcome
		code = core.Unavailable
	}
	e := core.Errorf(code, "%s answered %s, and not as Belfry does", c.base, resp.Status)
	if location := resp.Header.Get("Location"); location != "" {
		return e.WithHint("it points to %s", wire.Shorten(location))
	}
	return e.WithHint("is there a proxy in between, or another program at this address?")
}

// unreachable returns why there is no answer. If the caller gave up, it is the
// caller's own cause.
func (c *server) unreachable(ctx context.Context, err error, timeout time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var dns *net.DNSError
	var tlsRecord tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	e := core.Errorf(core.Unavailable, "cannot reach the server at %s: %w", c.base, bareError(err))
	switch {
	case noConnection(err):
		e.Message = fmt.Sprintf("the server at %s accepted no connection in time", c.base)
		return e.WithHint("is it overloaded, or the network slow?")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Message = fmt.Sprintf("the server at %s did not answer within %s", c.base, timeout)
		return e.WithHint("is it overloaded, or the network slow?")
	case errors.As(err, &dns):
		return e.WithHint("the host name of %s does not resolve; check --server or BELFRY_SERVER", c.base)
	case errors.As(err, &verify):
		return e.WithHint("its certificate is not trusted; name its authority with --ca-file")
	case errors.As(err, &tlsRecord), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return e.WithHint("it does not speak TLS; write http:// instead of https://")
	case errors.Is(err, syscall.ECONNREFUSED):
		return e.WithHint("nothing listens at %s; start it with belfry serve, or name another with --server or BELFRY_SERVER", c.base)
	}
	return e.WithHint("check that a server runs at %s", c.base)
}

// bareError returns the cause without method and address, which the message has.
func bareError(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// get makes a read, which may be repeated.
func get[T any](ctx context.Context, c *server, path string, query url.Values) (T, error) {
	var v T
	err := c.do(ctx, ask{method: http.MethodGet, path: path, query: query, again: true}, &v)
	return v, err
}

// put makes a change and returns the answer.
func put[T any](ctx context.Context, c *server, method, path string, query url.Values, body any) (T, error) {
	var v T
	err := c.do(ctx, ask{method: method, path: path, query: query, body: body}, &v)
	return v, err
}

func (c *server) delete(ctx context.Context, path string, query url.Values) error {
	return c.do(ctx, ask{method: http.MethodDelete, path: path, query: query}, nil)
}

// newTransport returns a transport for HTTP/1.1, with one request at a time on a
// connection, so that no request waits for another.
func newTransport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialAgain(dialer.DialContext),
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
	}
}

// dialTimeout is the timeout of one try to connect.
const dialTimeout = 5 * time.Second

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialAgain dials once more after a timeout. On a machine that stood still the timeout is over although no time was left
// for the connection. Nothing was sent yet, so this does no harm.
func dialAgain(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil && noConnection(err) && ctx.Err() == nil {
			return dial(ctx, network, address)
		}
		return conn, err
	}
}

// noConnection reports whether an error is the timeout of a connection.
func noConnection(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && op.Timeout()
}

// refuseRedirect prevents that a body is resent as a GET, or a token sent to
// another server.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
