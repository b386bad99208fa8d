package reach

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
)

// exchangeKey and callKey are keys in the context of a dialer: the exchange, and the
// context of the request. net/http detaches the dialer's context from the end of
// that one.
type (
	exchangeKey struct{}
	callKey     struct{}
)

// Traced returns a context whose requests report their stage to the exchange.
func Traced(ctx context.Context, x *Exchange) context.Context {
	ctx = context.WithValue(context.WithValue(ctx, callKey{}, ctx), exchangeKey{}, x)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() {
			x.Enter(StageTLS)
			if own := x.current(); own != nil {
				own.beginHandshake(ctx)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if own := x.current(); own != nil {
				own.endHandshake()
			}
			if err == nil {
				x.Enter(StageTurn)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			x.Enter(StageWrite)
			if remote, is := info.Conn.RemoteAddr().(*net.TCPAddr); is && info.Reused {
				x.Dials(remote.AddrPort().Addr().Unmap())
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				x.Advance(StageWait)
			}
		},
		GotFirstResponseByte: func() { x.Advance(StageHeaders) },
	})
}
