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

	"go.uber.org/goleak"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func task(g belfry.PageCheck) belfry.Task {
	return belfry.Task{Name: "shop", Page: &g}.WithDefaults()
}

func measure(t *testing.T, g belfry.PageCheck) belfry.Measure {
	t.Helper()
	return executor(t).Measure(t.Context(), task(g))
}

// soon measures with a deadline, for servers that have no end.
func soon(t *testing.T, g belfry.PageCheck) belfry.Measure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	return executor(t).Measure(ctx, task(g))
}

func want(t *testing.T, m belfry.Measure, outcome belfry.CheckOutcome, code belfry.CheckCode) {
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
	m := measure(t, belfry.PageCheck{URL: url, CSS: ".price", Headers: map[string]string{"X-Token": "abc", "host": "other.example"}})
	want(t, m, belfry.CheckOK, "")
	if m.Page == nil || m.Page.Text != "10 €\n12 €" || m.Page.Matches != 2 || m.Page.Digest != digest([]byte(m.Page.Text)) || m.Page.RawDigest == "" || m.Page.ConfigHash == "" {
		t.Errorf("%+v", m.Page)
	}
	if m.Status != 200 || m.IP != "127.0.0.1" || m.Latency <= 0 || m.Phases.Connect <= 0 || m.Hops != nil || m.Snapshot != nil {
		t.Errorf("%+v", m)
	}
}

func TestWhatAPageCanLackIsItsFault(t *testing.T) {
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
	m := measure(t, belfry.PageCheck{URL: url + "/robot", CSS: ".price"})
	want(t, m, belfry.CheckFail, belfry.CodeSelectorMissing)
	if m.Page == nil || m.Page.Outcome != belfry.PageSelectorMissing || m.Snapshot == nil || !strings.Contains(m.Snapshot.Body, "robot") {
		t.Errorf("%+v, %+v", m.Page, m.Snapshot)
	}
	want(t, measure(t, belfry.PageCheck{URL: url + "/empty", CSS: ".price"}), belfry.CheckFail, belfry.CodeEmpty)
	want(t, measure(t, belfry.PageCheck{URL: url + "/empty", CSS: ".price", AllowEmpty: true}), belfry.CheckOK, "")
	want(t, measure(t, belfry.PageCheck{URL: url + "/robot", JSONPath: ".a"}), belfry.CheckFail, belfry.CodeBodyBroken)
	m = measure(t, belfry.PageCheck{URL: url + "/down"})
	want(t, m, belfry.CheckFail, belfry.CodeStatus)
	if m.Status != 503 || m.Page != nil || m.Snapshot.Status != "503 Service Unavailable" || !strings.Contains(m.Snapshot.Body, "fishing") {
		t.Errorf("%+v", m)
	}
	want(t, measure(t, belfry.PageCheck{URL: url + "/pdf"}), belfry.CheckError, belfry.CodeUnsupported)
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
	m := measure(t, belfry.PageCheck{URL: url + "/?token=topsecret2&page=1", Headers: map[string]string{"Authorization": "Bearer topsecret3topsecret3"}})
	text, _ := json.Marshal(m)
	if strings.Contains(string(text), "topsecret") || m.Snapshot == nil || !m.Snapshot.Cut || len(m.Snapshot.Body) > belfry.MaxSnapshot {
		t.Error(string(text))
	}
	if !strings.Contains(m.Snapshot.Body, string(belfry.Redacted)) {
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
	m := measure(t, belfry.PageCheck{URL: url + "/a"})
	want(t, m, belfry.CheckOK, "")
	if len(m.Hops) != 3 || m.Hops[0].Status != 302 || m.Hops[2].Status != 200 || m.Hops[1].URL != url+"/b?…" || m.Latency < m.Hops[0].Took+m.Hops[1].Took+m.Hops[2].Took {
		t.Errorf("%+v", m.Hops)
	}
	want(t, measure(t, belfry.PageCheck{URL: url + "/cookie"}), belfry.CheckOK, "")
	want(t, measure(t, belfry.PageCheck{URL: url + "/loop"}), belfry.CheckFail, belfry.CodeRedirectLoop)
	want(t, measure(t, belfry.PageCheck{URL: url + "/far"}), belfry.CheckFail, belfry.CodeRedirectLimit)
	want(t, measure(t, belfry.PageCheck{URL: url + "/file"}), belfry.CheckFail, belfry.CodeProtocol)
	want(t, measure(t, belfry.PageCheck{URL: url + "/bad"}), belfry.CheckFail, belfry.CodeProtocol)
	want(t, measure(t, belfry.PageCheck{URL: url + "/metadata"}), belfry.CheckFail, belfry.CodeRedirectBlocked)
	want(t, measure(t, belfry.PageCheck{URL: url + "/local"}), belfry.CheckFail, belfry.CodeRedirectBlocked)
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var got http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, "x")
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	m := measure(t, belfry.PageCheck{URL: url, Headers: map[string]string{"X-Secret": "abc", "Authorization": "b", "Cookie": "c=d", "Accept-Language": "de"}})
	want(t, m, belfry.CheckOK, "")
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
	want(t, soon(t, belfry.PageCheck{URL: url + "/drip"}), belfry.CheckFail, belfry.CodeBodyTimeout)
	want(t, soon(t, belfry.PageCheck{URL: url + "/silent"}), belfry.CheckFail, belfry.CodeFirstByte)
	headers := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	want(t, soon(t, belfry.PageCheck{URL: "http://" + headers}), belfry.CheckFail, belfry.CodeProtocol)
	mute := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	want(t, soon(t, belfry.PageCheck{URL: "https://" + mute}), belfry.CheckFail, belfry.CodeTLSTimeout)
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
	for path, code := range map[string]belfry.CheckCode{
		"/large": belfry.CodeBodyTooLarge, "/bomb": belfry.CodeBodyTooLarge, "/brotli": belfry.CodeBodyBroken,
		"/badgzip": belfry.CodeBodyBroken, "/short": belfry.CodeBodyBroken,
	} {
		want(t, measure(t, belfry.PageCheck{URL: url + path, MaxBody: 1000, Headers: map[string]string{"Accept-Encoding": "br"}}), belfry.CheckFail, code)
	}
	for text, code := range map[string]belfry.CheckCode{"": belfry.CodeProtocol, "SSH-2.0-x\r\n": belfry.CodeProtocol, "HTTP/1.1 abc\r\n\r\n": belfry.CodeProtocol} {
		at := raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, text)
		})
		if m := soon(t, belfry.PageCheck{URL: "http://" + at}); m.Outcome != belfry.CheckFail || m.Code != code && !(text == "" && m.Code == belfry.CodeFirstByte) {
			t.Errorf("%q: %s %s", text, m.Code, m.Message)
		}
	}
	banner := raw(t, func(c net.Conn) { // speaks first, as mail and shell servers do
		_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	want(t, measure(t, belfry.PageCheck{URL: "http://" + banner}), belfry.CheckFail, belfry.CodeProtocol)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	want(t, measure(t, belfry.PageCheck{URL: "http://" + l.Addr().String()}), belfry.CheckFail, belfry.CodeConnectRefused)
	want(t, measure(t, belfry.PageCheck{URL: "http://127.0.0.2/"}), belfry.CheckError, belfry.CodeBlocked)
	plain := strings.Replace(url, "http://", "https://", 1)
	want(t, measure(t, belfry.PageCheck{URL: plain}), belfry.CheckFail, belfry.CodeTLSHandshake)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
