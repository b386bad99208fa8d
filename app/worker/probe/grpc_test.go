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

	"github.com/belfry-run/belfry/task"
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
		grpc    task.GRPC
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"serving":       {task.GRPC{Address: plain, Plaintext: true}, task.CheckOK, "", ""},
		"over TLS":      {task.GRPC{Address: secure, CA: ca.pem}, task.CheckOK, "", ""},
		"anybody":       {task.GRPC{Address: secure, SkipVerify: true}, task.CheckOK, "", ""},
		"not serving":   {task.GRPC{Address: plain, Plaintext: true, Service: "sick"}, task.CheckFail, task.CodeExpect, "NOT_SERVING"},
		"unknown":       {task.GRPC{Address: plain, Plaintext: true, Service: "none"}, task.CheckFail, task.CodeExpect, `does not know the service "none"`},
		"unimplemented": {task.GRPC{Address: without, Plaintext: true}, task.CheckFail, task.CodeExpect, "has no health service"},
		"shut":          {task.GRPC{Address: shut, Plaintext: true}, task.CheckFail, task.CodeExpect, "who are you"},
		"no gRPC":       {task.GRPC{Address: addressOf(web), Plaintext: true}, task.CheckFail, task.CodeProtocol, "does not speak gRPC"},
		"HTTP/1":        {task.GRPC{Address: addressOf(http1), CA: ca.pem}, task.CheckFail, task.CodeTLSHandshake, ""},
		"not plain":     {task.GRPC{Address: secure, Plaintext: true}, task.CheckFail, task.CodeProtocol, ""},
		"denied":        {task.GRPC{Address: "127.0.0.2:1", Plaintext: true}, task.CheckError, task.CodeBlocked, ""},
		"refused":       {task.GRPC{Address: "127.0.0.1:1", Plaintext: true}, task.CheckFail, task.CodeConnectRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := task.Task{GRPC: &c.grpc}
			if c.outcome == task.CheckOK {
				tk.Conditions = []string{"status == 'SERVING'"}
			}
			wants(t, look(t, tk), c.outcome, c.code, c.text)
		})
	}
	silent := task.Task{GRPC: &task.GRPC{Address: raw(t, hold), Plaintext: true}}
	wants(t, stalls(t, silent, task.CodeFirstByte), task.CheckFail, task.CodeFirstByte, "waiting for the first byte")
}
