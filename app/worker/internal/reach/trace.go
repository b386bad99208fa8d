package reach

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
)

// tripKey and callKey are for what a dialer finds in its context: the trip, and
// the context of the request, from whose end net/http detaches the dialer's own.
type (
	tripKey struct{}
	callKey struct{}
)

// Traced is a context whose requests tell their trip where they are.
func Traced(ctx context.Context, t *Trip) context.Context {
	ctx = context.WithValue(context.WithValue(ctx, callKey{}, ctx), tripKey{}, t)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() {
			t.Enter(StageTLS)
			if own := t.current(); own != nil {
				own.shake(ctx)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if own := t.current(); own != nil {
				own.shaken()
			}
			if err == nil {
				t.Enter(StageTurn)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.Enter(StageWrite)
			if remote, is := info.Conn.RemoteAddr().(*net.TCPAddr); is && info.Reused {
				t.Dials(remote.AddrPort().Addr().Unmap())
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.Advance(StageWait)
			}
		},
		GotFirstResponseByte: func() { t.Advance(StageHeaders) },
	})
}
