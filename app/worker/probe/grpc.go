package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// grpc asks the standard health service.
func (c *check) grpc(ctx context.Context) *reach.Fault {
	g := c.Task.GRPC
	ctx, cancel := context.WithCancel(ctx) // ends remaining dials of the library
	defer cancel()
	leave, f := c.WaitTurn(ctx, g.Address)
	if f != nil {
		return f
	}
	defer leave()
	x := c.NewExchange()
	way := &grpcDialer{check: c, ctx: ctx, exchange: x}
	conn, f := way.client()
	if f != nil {
		return f
	}
	defer func() { _ = conn.Close() }()
	reply, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{Service: g.Service})
	x.End()
	c.Saw(way.seen())
	if err != nil {
		return way.fault(err)
	}
	word := reply.GetStatus().String()
	c.Facts.Status, c.Answered = word, true
	if reply.GetStatus() != health.HealthCheckResponse_SERVING {
		return reach.Failing(task.CodeExpect, "the health service says %s", word)
	}
	return nil
}

// grpcDialer opens the connection for the library. The library's own errors are
// only texts, without the stage of the failure.
type grpcDialer struct {
	check    *check
	ctx      context.Context
	exchange *reach.Exchange
	config   *tls.Config // nil: without TLS

	mu    sync.Mutex
	first *reach.Fault
	state *tls.ConnectionState
}

func (w *grpcDialer) client() (*grpc.ClientConn, *reach.Fault) {
	g, e := w.check.Task.GRPC, w.check.e
	creds := insecure.NewCredentials()
	if !g.Plaintext {
		roots, err := e.net.Trusted(g.CA)
		if err != nil {
			return nil, reach.Misconfigured("grpc.ca", err)
		}
		w.config = &tls.Config{
			MinVersion: tls.VersionTLS12, Time: e.net.Now, NextProtos: []string{"h2"}, RootCAs: roots,
			ServerName: cmp.Or(g.ServerName, hostOf(g.Address)), InsecureSkipVerify: g.SkipVerify, //nolint:gosec // a setting of the task, off by default
		}
		creds = w
	}
	const buffer = 4 << 10
	conn, err := grpc.NewClient("passthrough:///"+g.Address,
		grpc.WithContextDialer(w.dial), grpc.WithTransportCredentials(creds), grpc.WithUserAgent(e.net.Agent()),
		grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(), grpc.WithDisableRetry(), grpc.WithNoProxy(),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer), grpc.WithMaxHeaderListSize(64<<10),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(buffer)))
	if err != nil {
		return nil, reach.Misconfigured("grpc.address", err)
	}
	return conn, nil
}

// dial serves the first connection only: a check makes one attempt.
func (w *grpcDialer) dial(context.Context, string) (net.Conn, error) {
	if w.failed() != nil {
		return nil, w.failed()
	}
	conn, f := w.check.Open(w.ctx, w.exchange, "tcp", w.check.Task.GRPC.Address, task.FamilyAny)
	if f != nil {
		return nil, w.fail(f)
	}
	// Distinguishes the end of the context from an error of the target: the library
	// reports both as texts.
	_ = conn.SetDeadline(time.Time{})
	if w.config == nil {
		w.exchange.Enter(reach.StageWait)
	}
	return conn, nil
}

// ClientHandshake implements [credentials.TransportCredentials].
func (w *grpcDialer) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, err := w.check.Secure(w.ctx, w.exchange, conn, w.config)
	if err != nil {
		w.refused(err)
		return nil, nil, w.fail(w.check.NetFault(w.ctx, w.exchange, err))
	}
	state := secured.ConnectionState()
	w.mu.Lock()
	w.state = &state
	w.mu.Unlock()
	if state.NegotiatedProtocol != "h2" {
		_ = secured.Close()
		return nil, nil, w.fail(reach.Failing(task.CodeProtocol, "the target does not speak HTTP/2, and so not gRPC"))
	}
	w.exchange.Enter(reach.StageWait)
	info := credentials.TLSInfo{State: state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return secured, info, nil
}

// ServerHandshake implements [credentials.TransportCredentials].
func (*grpcDialer) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("this is a client")
}

// Info implements [credentials.TransportCredentials].
func (*grpcDialer) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements [credentials.TransportCredentials].
func (w *grpcDialer) Clone() credentials.TransportCredentials { return w }

// OverrideServerName implements [credentials.TransportCredentials].
func (*grpcDialer) OverrideServerName(string) error { return nil }

func (w *grpcDialer) fail(f *reach.Fault) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = f
	}
	return f
}

func (w *grpcDialer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		return nil
	}
	return w.first
}

func (w *grpcDialer) refused(err error) {
	var refused *tls.CertificateVerificationError
	if errors.As(err, &refused) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state = &tls.ConnectionState{PeerCertificates: refused.UnverifiedCertificates}
	}
}

func (w *grpcDialer) seen() *tls.ConnectionState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// fault returns the fault of a call.
func (w *grpcDialer) fault(err error) *reach.Fault {
	w.mu.Lock()
	first := w.first
	w.mu.Unlock()
	s, _ := status.FromError(err)
	g := w.check.Task.GRPC
	said, _ := core.CleanText(w.check.Secrets.Redact(s.Message()), shownBody)
	switch {
	case first != nil:
		return first
	case w.ctx.Err() != nil:
		return w.check.NetFault(w.ctx, w.exchange, context.Cause(w.ctx))
	case s.Code() == codes.Unimplemented:
		return reach.Failing(task.CodeExpect, "the server has no health service: it does not implement grpc.health.v1.Health/Check")
	case s.Code() == codes.NotFound:
		return reach.Failing(task.CodeExpect, "the health service does not know the service %q", g.Service)
	case s.Code() == codes.Unauthenticated, s.Code() == codes.PermissionDenied:
		return reach.Failing(task.CodeExpect, "the server does not let everybody ask for its health: %s", said)
	case s.Code() == codes.Unavailable:
		return reach.Failing(task.CodeProtocol, "the target does not speak gRPC, or ended the connection: %s", said)
	}
	return reach.Failing(task.CodeProtocol, "the call ended with %s: %s", s.Code(), said)
}
