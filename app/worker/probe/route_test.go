package probe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Once a check has left its host it carries nothing that was for that host.
func TestCredentialsAreNotSentToAnotherHost(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	client := ca.server(t)
	var mu sync.Mutex
	seen := map[string]string{}
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path] = fmt.Sprintf("%v %s %d", r.Header, r.Host, len(r.TLS.PeerCertificates))
	}
	config := with(ca.server(t))
	config.ClientAuth = tls.RequestClientCert
	other := serveTLS(t, config.Clone(), func(_ http.ResponseWriter, r *http.Request) { note(r) })
	first := serveTLS(t, config.Clone(), func(w http.ResponseWriter, r *http.Request) {
		note(r)
		http.Redirect(w, r, other.URL+"/away", http.StatusFound)
	})
	auth := &task.HTTPAuth{User: "bob", Password: "verysecret", Cert: pemOf(client.Leaf), Key: core.Secret(keyPEM(t, client.PrivateKey.(*ecdsa.PrivateKey)))}
	m := look(t, task.Task{HTTP: &task.HTTP{URL: first.URL + "/here", CA: ca.pem, Auth: auth, Headers: map[string]string{"X-Api": "verysecret", "Cookie": "verysecret", "Host": "virtual.example"}}})
	wants(t, m, task.CheckOK, "", "")
	if here := seen["/here"]; !strings.Contains(here, "Basic Ym9iOnZlcnlzZWNyZXQ=") || !strings.Contains(here, "virtual.example 1") {
		t.Errorf("%s", here)
	}
	if away := seen["/away"]; away == "" || strings.Contains(away, "Basic") || strings.Contains(away, "verysecret") || strings.Contains(away, "virtual") || !strings.HasSuffix(away, " 0") {
		t.Errorf("%s", away)
	}
}

func TestChecksAreColdUnlessAsked(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr] = true
	})
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for range 3 {
		ex.Check(t.Context(), get(s.URL))
	}
	if len(from) != 3 {
		t.Errorf("%d connections for 3 cold checks", len(from))
	}
	clear(from)
	warm := get(s.URL)
	warm.HTTP.KeepAlive = true
	for range 3 {
		if m := ex.Check(t.Context(), warm); m.Outcome != task.CheckOK || m.IP != "127.0.0.1" {
			t.Errorf("%+v", m)
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections for 3 warm checks", len(from))
	}
}

func TestOneHostIsNotAskedByManyAtOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	ex := probe.New(probe.Options{Guard: local, PerHost: 1})
	defer ex.Close()
	first := make(chan task.CheckResult)
	go func() { first <- ex.Check(t.Context(), get(s.URL)) }()
	<-arrived
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, worker.ErrTimeout)
	defer cancel()
	m := ex.Check(ctx, get(s.URL+"/second"))
	wants(t, m, task.CheckError, task.CodeLate, "waited its whole timeout for its turn")
	if m.Latency != 0 {
		t.Errorf("a wait of ours is a latency of %s", m.Latency)
	}
	other := serve(t, func(http.ResponseWriter, *http.Request) {})
	wants(t, ex.Check(t.Context(), get(other.URL)), task.CheckOK, "", "")
	close(release)
	wants(t, <-first, task.CheckOK, "", "")
	wants(t, ex.Check(t.Context(), get(s.URL)), task.CheckOK, "", "")
}

func TestProxies(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "plain") })
	secure := serveTLS(t, with(ca.server(t)), func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "secure") })
	var asked atomic.Int32
	status := http.StatusOK
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		if r.Method != http.MethodConnect {
			resp, err := http.Get(r.URL.String())
			if err != nil {
				w.WriteHeader(502)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			_, _ = io.Copy(w, resp.Body)
			return
		}
		tunnel(w, r.Host)
	})
	defer http.DefaultClient.CloseIdleConnections()
	via := func(url, through string) task.CheckResult {
		return look(t, task.Task{HTTP: &task.HTTP{URL: url, Proxy: through, CA: ca.pem, ExpectBody: "plain|secure"}})
	}
	wants(t, via(plain.URL, proxy.URL), task.CheckOK, "", "")
	wants(t, via(secure.URL, proxy.URL), task.CheckOK, "", "")
	if asked.Load() != 2 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
	// The proxy could reach these, and is not asked.
	wants(t, via("http://127.0.0.2:1/", proxy.URL), task.CheckError, task.CodeBlocked, "")
	wants(t, via("http://169.254.169.254/", proxy.URL), task.CheckError, task.CodeBlocked, "")
	if asked.Load() != 2 {
		t.Errorf("the proxy was asked for a denied address")
	}
	wants(t, via(plain.URL, "http://127.0.0.2:1"), task.CheckError, task.CodeBlocked, "")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	wants(t, via(plain.URL, gone.URL), task.CheckError, task.CodeNetwork, "the proxy cannot be reached")
	status = http.StatusBadGateway
	wants(t, via(secure.URL, proxy.URL), task.CheckFail, task.CodeConnectFailed, "it answered 502")
	status = http.StatusForbidden
	wants(t, via(secure.URL, proxy.URL), task.CheckError, task.CodeConfig, "it answered 403")
}

func tunnel(w http.ResponseWriter, host string) {
	to, err := net.Dial("tcp", host)
	if err != nil {
		w.WriteHeader(502)
		return
	}
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
}

func TestChecksUseOnlyTheChosenAddressFamily(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	tk := get(s.URL)
	tk.HTTP.Family = task.FamilyIPv6
	wants(t, look(t, tk), task.CheckError, task.CodeConfig, "not of the family")
	tk.HTTP.Family = task.FamilyIPv4
	wants(t, look(t, tk), task.CheckOK, "", "")
}

// The key that a secret was sealed with is missing. What stands for the secret is not sent, and the target does not seem down.
func TestSecretsThatWereNotOpenedAreSentNowhere(t *testing.T) {
	t.Parallel()
	called := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called = true
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	h := task.HTTP{URL: s.URL, Auth: &task.HTTPAuth{Bearer: core.Redacted}}
	wants(t, look(t, task.Task{HTTP: &h}), task.CheckError, task.CodeConfig, "seal_key_file")
	if r := ask(t, h); r.Outcome != job.OutcomeError || !r.Infra || r.NoRetry || !strings.Contains(r.Error, "seal_key_file") {
		t.Errorf("got %+v, want a fault of the machine", r.Finish)
	}
	if called {
		t.Error("the target was called")
	}
}
