// Package exchange bounds calls over HTTP: when the context of a request ends,
// the exchange ends and its connection is closed, whatever the other side does.
//
// [net/http] gives no such promise. A connection on which the other side has
// switched protocols (101) belongs to the reader of the body from then on, and
// no context ends it. So a peer that switches unasked is refused before
// its body is read, and every body is closed when its request's context ends.
package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// ErrSwitched says that the other side switched protocols unasked.
var ErrSwitched = errors.New("it switched protocols (101 Switching Protocols) without being asked to")

// Transport is an [http.RoundTripper] whose exchanges are bounded by [RoundTrip].
type Transport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return RoundTrip(t.RoundTripper, req)
}

// CloseIdleConnections closes those of the transport below, if it has any.
func (t Transport) CloseIdleConnections() {
	if c, has := t.RoundTripper.(interface{ CloseIdleConnections() }); has {
		c.CloseIdleConnections()
	}
}

// RoundTrip makes one exchange through a transport. The end of the request's
// context ends it, the reading of the body too. Where the request asks for no
// upgrade, an answer of 101 is [ErrSwitched].
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

// tied is a body that is closed when the context ends. One that can be written
// to, after an upgrade, still can.
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

// Read tells the end of the context by its cause: the end of the connection is
// but what follows from it.
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
