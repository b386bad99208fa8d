package probe_test

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A worker whose clock is wrong judges certificates by the clock of its server.
func TestCertificatesAreJudgedByTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	ca, now := newAuthority(t), time.Now()
	from := with(ca.server(t, func(c *x509.Certificate) { c.NotBefore, c.NotAfter = now.Add(day), now.Add(50*day) }))
	web := serveTLS(t, from, func(http.ResponseWriter, *http.Request) {})
	health := serveGRPC(t, withHealth, grpc.Creds(credentials.NewTLS(from)))
	for name, tk := range map[string]task.Task{
		"http": {HTTP: &task.HTTP{URL: web.URL, CA: ca.pem}},
		"tls":  {TLS: &task.TLS{Address: addressOf(web), CA: ca.pem}},
		"grpc": {GRPC: &task.GRPC{Address: health, CA: ca.pem}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ex := probe.New(probe.Options{Guard: local})
			t.Cleanup(ex.Close)
			tk.Conditions = []string{"cert_days >= 39 and cert_days <= 40"}
			for _, c := range []struct {
				ahead   time.Duration
				outcome task.CheckOutcome
				code    task.CheckCode
			}{
				{10 * day, task.CheckOK, ""},
				{51 * day, task.CheckFail, task.CodeTLSExpired},
				{0, task.CheckFail, task.CodeTLSExpired},
				{-10 * day, task.CheckFail, task.CodeTLSExpired},
				{20 * day, task.CheckFail, task.CodeAssertion},
			} {
				r := run(tk, job.TriggerCheck)
				r.Job.ClaimedAt, r.Arrived = now.Add(c.ahead), time.Now()
				f := ex.Execute(t.Context(), r)
				if f.Check == nil {
					t.Fatalf("%+v", f)
				}
				wants(t, *f.Check, c.outcome, c.code, "")
			}
		})
	}
}
