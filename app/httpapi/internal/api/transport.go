package api

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"sync"
)

// Transport carries the calls of a [client.Client] to the server in this process,
// without a socket. They are authenticated, checked, limited and measured like
// other calls. A call within a request of a browser has the client address of
// that request. The host name of a call is ignored.
func (a *API) Transport() http.RoundTripper {
	return &local{handler: a.Observed(http.HandlerFunc(a.route))}
}

type local struct{ handler http.Handler }

type inProcessKey struct{}

// isInProcess reports whether a call came through [API.Transport], like those of console pages.
func isInProcess(ctx context.Context) bool { return ctx.Value(inProcessKey{}) != nil }

// RoundTrip runs the handler in a goroutine; the caller reads the body while the
// handler writes. The handler ends with the caller's context, or when the body is closed.
func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), inProcessKey{}, true))
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.Host = r.URL.Host
	in.RemoteAddr = "127.0.0.1:0"
	if outer := CallOf(r.Context()); outer.r != nil {
		in.RemoteAddr = netip.AddrPortFrom(outer.addr, 0).String()
		in.Header.Set("X-Request-Id", outer.Id)
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, out := io.Pipe()
	w := &localWriter{header: http.Header{}, pipe: out, began: make(chan struct{})}
	go func() {
		defer in.Body.Close()
		defer func() {
			if v := recover(); v != nil { // the server has logged the panic, or aborted the answer
				_ = out.CloseWithError(io.ErrUnexpectedEOF)
			}
			w.WriteHeader(http.StatusOK)
			_ = out.Close()
		}()
		l.handler.ServeHTTP(w, in)
	}()
	select {
	case <-w.began:
	case <-ctx.Done():
		cancel()
		_ = body.Close()
		return nil, context.Cause(r.Context())
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &localBody{body, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// localBody ends the handler when the caller closes the body.
type localBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *localBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// localWriter is the handler's side of a call.
type localWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	began  chan struct{} // closed once status and sent are set
	status int
	sent   http.Header
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	if status < 200 {
		return
	}
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.began)
	})
}

func (w *localWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush does nothing: the pipe does not buffer.
func (w *localWriter) Flush() {}
