// Package exchange bounds calls over HTTP. When the context of a request ends, the
// exchange ends and its connection is closed, whatever the server does.
//
// [net/http] does not guarantee that: after a server has switched protocols (101),
// the reader of the body owns the connection, and no context ends it. So an
// unrequested switch is refused before its body is read, and every body is closed
// when the context of its request ends.
package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// ErrSwitched means that the server switched protocols without a request to.
var ErrSwitched = errors.New("it switched protocols (101 Switching Protocols) without being asked to")

// Transport is an [http.RoundTripper] whose exchanges are bounded by [RoundTrip].
type Transport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return RoundTrip(t.RoundTripper, req)
}

// CloseIdleConnections closes idle connections of the wrapped transport, if it can.
func (t Transport) CloseIdleConnections() {
	if c, has := t.RoundTripper.(interface{ CloseIdleConnections() }); has {
		c.CloseIdleConnections()
	}
}

// RoundTrip makes one exchange through a transport. The end of the request's
// context ends the exchange, including the reading of the body. An answer of 101
// to a request without an upgrade is [ErrSwitched].
func RoundTrip(through http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := through.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && req.Header.Get("Upgrade") == "" {
		_ = resp.Body.Close()
		return nil, ErrSwitched
	}
	resp.Body = tied(req.Context(), resp.Body)
	return resp, nil
}

// tied returns a body that is closed when the context ends. If the body is
// writable, after an upgrade, the result is as well.
func tied(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	b := &body{ReadCloser: from, ctx: ctx}
	b.stop = context.AfterFunc(ctx, func() { _ = from.Close() })
	if to, is := from.(io.Writer); is {
		return duplex{b, to}
	}
	return b
}

type body struct {
	io.ReadCloser
	ctx  context.Context
	stop func() bool
}

type duplex struct {
	*body
	io.Writer
}

// Read returns the cause of the context after its end: the closed connection is
// only a consequence of it.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}
