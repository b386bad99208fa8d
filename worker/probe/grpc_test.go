package probe_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/belfry-run/belfry"
)

func serveGRPC(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	register(s)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-ended })
	return l.Addr().String()
}

func withHealth(s *grpc.Server) {
	h := health.NewServer()
	h.SetServingStatus("sick", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(s, h)
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	plain := serveGRPC(t, withHealth)
	secure := serveGRPC(t, withHealth, grpc.Creds(credentials.NewTLS(with(ca.server(t)))))
	without := serveGRPC(t, func(*grpc.Server) {})
	shut := serveGRPC(t, withHealth, grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		return nil, status.Error(codes.Unauthenticated, "who are you")
	}))
	web := serve(t, nothing)
	http1 := serveTLS(t, &tls.Config{Certificates: with(ca.server(t)).Certificates, NextProtos: []string{"http/1.1"}}, nothing)
	for name, c := range map[string]struct {
		grpc    belfry.GRPC
		outcome belfry.CheckOutcome
		code    belfry.CheckCode
		text    string
	}{
		"serving":       {belfry.GRPC{Address: plain, Plaintext: true}, belfry.CheckOK, "", ""},
		"over TLS":      {belfry.GRPC{Address: secure, CA: ca.pem}, belfry.CheckOK, "", ""},
		"anybody":       {belfry.GRPC{Address: secure, SkipVerify: true}, belfry.CheckOK, "", ""},
		"not serving":   {belfry.GRPC{Address: plain, Plaintext: true, Service: "sick"}, belfry.CheckFail, belfry.CodeExpect, "NOT_SERVING"},
		"unknown":       {belfry.GRPC{Address: plain, Plaintext: true, Service: "none"}, belfry.CheckFail, belfry.CodeExpect, `does not know the service "none"`},
		"unimplemented": {belfry.GRPC{Address: without, Plaintext: true}, belfry.CheckFail, belfry.CodeExpect, "has no health service"},
		"shut":          {belfry.GRPC{Address: shut, Plaintext: true}, belfry.CheckFail, belfry.CodeExpect, "who are you"},
		"no gRPC":       {belfry.GRPC{Address: addressOf(web), Plaintext: true}, belfry.CheckFail, belfry.CodeProtocol, "does not speak gRPC"},
		"HTTP/1":        {belfry.GRPC{Address: addressOf(http1), CA: ca.pem}, belfry.CheckFail, belfry.CodeTLSHandshake, ""},
		"not plain":     {belfry.GRPC{Address: secure, Plaintext: true}, belfry.CheckFail, belfry.CodeProtocol, ""},
		"denied":        {belfry.GRPC{Address: "127.0.0.2:1", Plaintext: true}, belfry.CheckError, belfry.CodeBlocked, ""},
		"refused":       {belfry.GRPC{Address: "127.0.0.1:1", Plaintext: true}, belfry.CheckFail, belfry.CodeConnectRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := belfry.Task{GRPC: &c.grpc}
			if c.outcome == belfry.CheckOK {
				task.Conditions = []string{"status == 'SERVING'"}
			}
			wants(t, look(t, task), c.outcome, c.code, c.text)
		})
	}
	silent := belfry.Task{GRPC: &belfry.GRPC{Address: raw(t, hold), Plaintext: true}}
	wants(t, stalls(t, silent, belfry.CodeFirstByte), belfry.CheckFail, belfry.CodeFirstByte, "waiting for the first byte")
}
