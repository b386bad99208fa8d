package page

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/task"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// loopback is what the executors of these tests may reach: one address, so
// that another can be forbidden.
var loopback = guard.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}

func executor(t *testing.T) *Executor {
	t.Helper()
	e := New(Options{Guard: loopback, Version: "test"})
	t.Cleanup(e.Close)
	return e
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func pageTask(g task.PageCheck) task.Task {
	return task.Task{Name: "shop", Page: &g}.WithDefaults()
}

func checked(t *testing.T, g task.PageCheck) task.CheckResult {
	t.Helper()
	return executor(t).Check(t.Context(), pageTask(g))
}

// soon checks with a deadline, for servers that have no end. A check that came less far than wanted gets a later one.
func soon(t *testing.T, g task.PageCheck, code task.CheckCode) (m task.CheckResult) {
	t.Helper()
	for _, d := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 15 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		m = executor(t).Check(ctx, pageTask(g))
		if cancel(); m.Code == code {
			break
		}
	}
	return m
}

func want(t *testing.T, m task.CheckResult, outcome task.CheckOutcome, code task.CheckCode) {
	t.Helper()
	if m.Outcome != outcome || m.Code != code || (code != "") != (m.Message != "") {
		t.Errorf("%s, %s: %q; want %s, %s", m.Outcome, m.Code, m.Message, outcome, code)
	}
}

func TestAPageIsSeen(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") != "Belfry/test" || r.Header.Get("X-Token") != "abc" || r.Host != "other.example" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, "<p class=price>10 €</p><p class=price>12 €</p>")
	})
	m := checked(t, task.PageCheck{URL: url, CSS: ".price", Headers: map[string]string{"X-Token": "abc", "host": "other.example"}})
	want(t, m, task.CheckOK, "")
	if m.Page == nil || m.Page.Text != "10 €\n12 €" || m.Page.Matches != 2 || m.Page.Digest != digest([]byte(m.Page.Text)) || m.Page.RawDigest == "" || m.Page.ConfigHash == "" {
		t.Errorf("%+v", m.Page)
	}
	if m.Status != 200 || m.IP != "127.0.0.1" || m.Latency <= 0 || m.Phases.Connect <= 0 || m.Hops != nil || m.Snapshot != nil {
		t.Errorf("%+v", m)
	}
}

func TestPageWithoutTheExpectedContentFails(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robot":
			_, _ = io.WriteString(w, "<p>Are you a robot?</p>")
		case "/empty":
			_, _ = io.WriteString(w, "<p class=price></p>")
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(w, "%PDF-1.7")
		default:
			http.Error(w, "gone fishing", http.StatusServiceUnavailable)
		}
	})
	m := checked(t, task.PageCheck{URL: url + "/robot", CSS: ".price"})
	want(t, m, task.CheckFail, task.CodeSelectorMissing)
	if m.Page == nil || m.Page.Outcome != task.PageSelectorMissing || m.Snapshot == nil || !strings.Contains(m.Snapshot.Body, "robot") {
		t.Errorf("%+v, %+v", m.Page, m.Snapshot)
	}
	want(t, checked(t, task.PageCheck{URL: url + "/empty", CSS: ".price"}), task.CheckFail, task.CodeEmpty)
	want(t, checked(t, task.PageCheck{URL: url + "/empty", CSS: ".price", AllowEmpty: true}), task.CheckOK, "")
	want(t, checked(t, task.PageCheck{URL: url + "/robot", JSONPath: ".a"}), task.CheckFail, task.CodeBodyBroken)
	m = checked(t, task.PageCheck{URL: url + "/down"})
	want(t, m, task.CheckFail, task.CodeStatus)
	if m.Status != 503 || m.Page != nil || m.Snapshot.Status != "503 Service Unavailable" || !strings.Contains(m.Snapshot.Body, "fishing") {
		t.Errorf("%+v", m)
	}
	want(t, checked(t, task.PageCheck{URL: url + "/pdf"}), task.CheckError, task.CodeUnsupported)
}

func TestASnapshotHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=topsecret1")
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.WriteHeader(500)
		_, _ = fmt.Fprintf(w, "you said %s to %s", r.Header.Get("Authorization"), r.URL)
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
	})
	m := checked(t, task.PageCheck{URL: url + "/?token=topsecret2&page=1", Headers: map[string]string{"Authorization": "Bearer topsecret3topsecret3"}})
	text, _ := json.Marshal(m)
	if strings.Contains(string(text), "topsecret") || m.Snapshot == nil || !m.Snapshot.Cut || len(m.Snapshot.Body) > task.MaxSnapshot {
		t.Error(string(text))
	}
	if !strings.Contains(m.Snapshot.Body, string(core.Redacted)) {
		t.Error(m.Snapshot.Body[:100])
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var url string
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/a": "/b?x=1", "/b": url + "/end", "/loop": "/pool", "/pool": "/loop", "/file": "file:///etc/passwd",
			"/metadata": "http://169.254.169.254/latest", "/local": strings.Replace(url, "127.0.0.1", "127.0.0.2", 1), "/bad": "http://%zz/",
			"/far": "/far?n=" + r.URL.Query().Get("n") + "1",
		}[r.URL.Path]
		switch _, err := r.Cookie("seen"); {
		case r.URL.Path == "/cookie" && err != nil:
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(w, r, "/cookie", http.StatusFound)
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		default:
			_, _ = io.WriteString(w, "<p>arrived</p>")
		}
	})
	m := checked(t, task.PageCheck{URL: url + "/a"})
	want(t, m, task.CheckOK, "")
	if len(m.Hops) != 3 || m.Hops[0].Status != 302 || m.Hops[2].Status != 200 || m.Hops[1].URL != url+"/b?…" || m.Latency < m.Hops[0].Took+m.Hops[1].Took+m.Hops[2].Took {
		t.Errorf("%+v", m.Hops)
	}
	want(t, checked(t, task.PageCheck{URL: url + "/cookie"}), task.CheckOK, "")
	want(t, checked(t, task.PageCheck{URL: url + "/loop"}), task.CheckFail, task.CodeRedirectLoop)
	want(t, checked(t, task.PageCheck{URL: url + "/far"}), task.CheckFail, task.CodeRedirectLimit)
	want(t, checked(t, task.PageCheck{URL: url + "/file"}), task.CheckFail, task.CodeProtocol)
	want(t, checked(t, task.PageCheck{URL: url + "/bad"}), task.CheckFail, task.CodeProtocol)
	want(t, checked(t, task.PageCheck{URL: url + "/metadata"}), task.CheckFail, task.CodeRedirectBlocked)
	want(t, checked(t, task.PageCheck{URL: url + "/local"}), task.CheckFail, task.CodeRedirectBlocked)
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var got http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, "x")
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	m := checked(t, task.PageCheck{URL: url, Headers: map[string]string{"X-Secret": "abc", "Authorization": "b", "Cookie": "c=d", "Accept-Language": "de"}})
	want(t, m, task.CheckOK, "")
	if got.Get("X-Secret")+got.Get("Authorization")+got.Get("Cookie") != "" || got.Get("Accept-Language") != "de" {
		t.Errorf("%v", got)
	}
}

func TestServersThatHaveNoEnd(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			return
		}
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	want(t, soon(t, task.PageCheck{URL: url + "/drip"}, task.CodeBodyTimeout), task.CheckFail, task.CodeBodyTimeout)
	want(t, soon(t, task.PageCheck{URL: url + "/silent"}, task.CodeFirstByte), task.CheckFail, task.CodeFirstByte)
	headers := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	want(t, soon(t, task.PageCheck{URL: "http://" + headers}, task.CodeProtocol), task.CheckFail, task.CodeProtocol)
	mute := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	want(t, soon(t, task.PageCheck{URL: "https://" + mute}, task.CodeTLSTimeout), task.CheckFail, task.CodeTLSTimeout)
}

// raw serves connections without any protocol.
func raw(t *testing.T, handle func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			handle(c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 2000))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 64<<20)
			_ = z.Close()
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "xxx")
		case "/badgzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "not gzip at all")
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		}
	})
	for path, code := range map[string]task.CheckCode{
		"/large": task.CodeBodyTooLarge, "/bomb": task.CodeBodyTooLarge, "/brotli": task.CodeBodyBroken,
		"/badgzip": task.CodeBodyBroken, "/short": task.CodeBodyBroken,
	} {
		want(t, checked(t, task.PageCheck{URL: url + path, MaxBody: 1000, Headers: map[string]string{"Accept-Encoding": "br"}}), task.CheckFail, code)
	}
	for text, code := range map[string]task.CheckCode{"": task.CodeProtocol, "SSH-2.0-x\r\n": task.CodeProtocol, "HTTP/1.1 abc\r\n\r\n": task.CodeProtocol} {
		at := raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, text)
		})
		if m := soon(t, task.PageCheck{URL: "http://" + at}, code); m.Outcome != task.CheckFail || m.Code != code && !(text == "" && m.Code == task.CodeFirstByte) {
			t.Errorf("%q: %s %s", text, m.Code, m.Message)
		}
	}
	banner := raw(t, func(c net.Conn) { // speaks first, as mail and shell servers do
		_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	want(t, checked(t, task.PageCheck{URL: "http://" + banner}), task.CheckFail, task.CodeProtocol)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	want(t, checked(t, task.PageCheck{URL: "http://" + l.Addr().String()}), task.CheckFail, task.CodeConnectRefused)
	want(t, checked(t, task.PageCheck{URL: "http://127.0.0.2/"}), task.CheckError, task.CodeBlocked)
	plain := strings.Replace(url, "http://", "https://", 1)
	want(t, checked(t, task.PageCheck{URL: plain}), task.CheckFail, task.CodeTLSHandshake)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
