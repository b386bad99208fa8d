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
func (l *look) grpc(ctx context.Context) *reach.Fault {
	g := l.Task.GRPC
	ctx, cancel := context.WithCancel(ctx) // ends what the library still dials
	defer cancel()
	leave, f := l.Turn(ctx, g.Address)
	if f != nil {
		return f
	}
	defer leave()
	trip := l.Trip()
	way := &grpcWay{look: l, ctx: ctx, trip: trip}
	conn, f := way.client()
	if f != nil {
		return f
	}
	defer func() { _ = conn.Close() }()
	reply, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{Service: g.Service})
	trip.End()
	l.Saw(way.seen())
	if err != nil {
		return way.fault(err)
	}
	word := reply.GetStatus().String()
	l.Facts.Status, l.Answered = word, true
	if reply.GetStatus() != health.HealthCheckResponse_SERVING {
		return reach.Failing(task.CodeExpect, "the health service says %s", word)
	}
	return nil
}

// grpcWay opens the connection for the library, which tells no more of what
// went wrong than a sentence, and never where.
type grpcWay struct {
	look   *look
	ctx    context.Context
	trip   *reach.Trip
	config *tls.Config // nil: without TLS

	mu    sync.Mutex
	first *reach.Fault
	state *tls.ConnectionState
}

func (w *grpcWay) client() (*grpc.ClientConn, *reach.Fault) {
	g, e := w.look.Task.GRPC, w.look.e
	creds := insecure.NewCredentials()
	if !g.Plaintext {
		roots, err := e.net.Trusted(g.CA)
		if err != nil {
			return nil, reach.Misconfigured("grpc.ca", err)
		}
		w.config = &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, RootCAs: roots,
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

// dial serves the first connection only: a check looks once.
func (w *grpcWay) dial(context.Context, string) (net.Conn, error) {
	if w.failed() != nil {
		return nil, w.failed()
	}
	conn, f := w.look.Open(w.ctx, w.trip, "tcp", w.look.Task.GRPC.Address, task.FamilyAny)
	if f != nil {
		return nil, w.fail(f)
	}
	// The context's end is told apart from a target's: the library makes a
	// sentence of both.
	_ = conn.SetDeadline(time.Time{})
	if w.config == nil {
		w.trip.Enter(reach.StageWait)
	}
	return conn, nil
}

// ClientHandshake implements [credentials.TransportCredentials].
func (w *grpcWay) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, err := w.look.Secure(w.ctx, w.trip, conn, w.config)
	if err != nil {
		w.refused(err)
		return nil, nil, w.fail(w.look.NetFault(w.ctx, w.trip, err))
	}
	state := secured.ConnectionState()
	w.mu.Lock()
	w.state = &state
	w.mu.Unlock()
	if state.NegotiatedProtocol != "h2" {
		_ = secured.Close()
		return nil, nil, w.fail(reach.Failing(task.CodeProtocol, "the target does not speak HTTP/2, and so not gRPC"))
	}
	w.trip.Enter(reach.StageWait)
	info := credentials.TLSInfo{State: state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return secured, info, nil
}

// ServerHandshake implements [credentials.TransportCredentials].
func (*grpcWay) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("this is a client")
}

// Info implements [credentials.TransportCredentials].
func (*grpcWay) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements [credentials.TransportCredentials].
func (w *grpcWay) Clone() credentials.TransportCredentials { return w }

// OverrideServerName implements [credentials.TransportCredentials].
func (*grpcWay) OverrideServerName(string) error { return nil }

func (w *grpcWay) fail(f *reach.Fault) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = f
	}
	return f
}

func (w *grpcWay) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		return nil
	}
	return w.first
}

func (w *grpcWay) refused(err error) {
	var refused *tls.CertificateVerificationError
	if errors.As(err, &refused) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state = &tls.ConnectionState{PeerCertificates: refused.UnverifiedCertificates}
	}
}

func (w *grpcWay) seen() *tls.ConnectionState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// fault is what the end of a call means.
func (w *grpcWay) fault(err error) *reach.Fault {
	w.mu.Lock()
	first := w.first
	w.mu.Unlock()
	s, _ := status.FromError(err)
	g := w.look.Task.GRPC
	said, _ := core.CleanText(w.look.Secrets.Redact(s.Message()), shownBody)
	switch {
	case first != nil:
		return first
	case w.ctx.Err() != nil:
		return w.look.NetFault(w.ctx, w.trip, context.Cause(w.ctx))
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
