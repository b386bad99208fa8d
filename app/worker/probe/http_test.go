package probe_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestTheResultOfACheckDescribesTheAnswer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	var proto, agent atomic.Value
	s := serveTLS(t, with(ca.server(t)), func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		agent.Store(r.Header.Get("User-Agent") + "|" + r.Header.Get("Belfry-Job"))
		_, _ = io.WriteString(w, `{"ready":true}`)
	})
	m := look(t, task.Task{
		HTTP:       &task.HTTP{URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1), CA: ca.pem, Family: task.FamilyIPv4},
		Conditions: []string{"status == 200", "json.ready", "cert_days == 90", "latency < 10s", "ip == '127.0.0.1'"},
	})
	if m.Outcome != task.CheckOK || m.Status != 200 || m.IP != "127.0.0.1" || m.Hops != nil || m.Snapshot != nil || len(m.Conditions) != 5 {
		t.Errorf("%+v", m)
	}
	if m.Latency <= 0 || m.Phases.DNS <= 0 || m.Phases.Connect <= 0 || m.Phases.TLS <= 0 || m.Phases.FirstByte <= 0 || m.Phases.Transfer <= 0 {
		t.Errorf("%s %+v", m.Latency, m.Phases)
	}
	if days := time.Until(m.CertEnd) / (24 * time.Hour); days != 90 {
		t.Errorf("%s", m.CertEnd)
	}
	if proto.Load() != "HTTP/2.0" || agent.Load() != "Belfry/1.2.3|" {
		t.Error(proto.Load(), agent.Load())
	}
}

func TestConditionsAndWarnings(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "fine") })
	tk := get(s.URL)
	tk.Conditions = []string{"body == 'fine'"}
	tk.Warnings = []string{"latency < 0.000001ms", "status == 200"}
	m := look(t, tk)
	wants(t, m, task.CheckDegraded, task.CodeAssertion, "warning latency < 0.000001ms does not hold (latency = ")
	if len(m.Conditions) != 3 || !m.Conditions[0].Holds || m.Conditions[0].Warning || m.Conditions[1].Holds || !m.Conditions[1].Warning || !m.Conditions[2].Holds || m.Snapshot == nil {
		t.Errorf("%+v", m)
	}
	tk.Conditions = append(tk.Conditions, "json.ready", "cert_days > 3")
	m = look(t, tk)
	wants(t, m, task.CheckFail, task.CodeAssertion, "condition json.ready does not hold: json: the body is not JSON")
	if len(m.Conditions) != 5 || m.Conditions[2].Error == "" {
		t.Errorf("%+v", m.Conditions)
	}
	tk.Conditions = []string{"status ="}
	wants(t, look(t, tk), task.CheckError, task.CodeConfig, "cannot be read")
}

func TestAStatusIsJudgedAndItsAnswerKept(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=verysecret")
		w.Header().Set("X-Auth-Token", "verysecret")
		w.Header().Set("Location", "https://u:verysecret@example.com/x?token=verysecret")
		w.Header().Set("X-Echo", r.Header.Get("X-Custom"))
		w.WriteHeader(503)
		_, _ = fmt.Fprintf(w, "no database; you sent %s, try https://example.com/?access_token=verysecret&a=1 or ftp://bob:verysecret@h/ \xff", r.Header.Get("Authorization"))
	})
	tk := get(s.URL + "/?api_key=queryverysecret")
	tk.HTTP.Auth = &task.HTTPAuth{Bearer: "bearerverysecret"}
	tk.HTTP.Headers = map[string]string{"X-Custom": "customverysecret"}
	tk.Conditions = []string{"header('X-Echo') == 'none'"}
	m := look(t, tk)
	wants(t, m, task.CheckFail, task.CodeStatus, "expected status 200-299, got 503 Service Unavailable")
	if strings.Contains(fmt.Sprintf("%+v %+v", m, m.Snapshot), "verysecret") {
		t.Errorf("%+v %+v", m, m.Snapshot)
	}
	if snap := m.Snapshot; snap.Status != "503 Service Unavailable" || !strings.HasPrefix(snap.Body, "no database; you sent Bearer (secret), try") || !strings.Contains(snap.Body, "&a=1") || snap.Headers["Content-Length"] == "" {
		t.Errorf("%+v", snap)
	}
	wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, ExpectStatus: []string{"503"}, ExpectBody: "^fine"}}), task.CheckFail, task.CodeAssertion, "expected a body that matches")
}

func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	answer := func(text string) string {
		return "http://" + raw(t, func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, text)
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		url, text string
		code      task.CheckCode
	}{
		"refused":         {closed.URL, "refused", task.CodeConnectRefused},
		"silence":         {answer(""), "closed the connection", task.CodeProtocol},
		"half a line":     {answer("HTTP/1.1 2"), "malformed HTTP status code", task.CodeProtocol},
		"half headers":    {answer("HTTP/1.1 200 OK\r\nA: b\r\n"), "closed the connection", task.CodeProtocol},
		"no HTTP":         {answer("SSH-2.0-OpenSSH_9.6\r\n"), "cannot be read", task.CodeProtocol},
		"broken header":   {answer("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), "cannot be read", task.CodeProtocol},
		"two lengths":     {answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "cannot be read", task.CodeProtocol},
		"short body":      {answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"), "broke off", task.CodeBodyBroken},
		"broken chunks":   {answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "broke off", task.CodeBodyBroken},
		"broken gzip":     {answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"), "broke off", task.CodeBodyBroken},
		"redirect no URL": {answer("HTTP/1.1 302 Found\r\nLocation: http://%zz/\r\n\r\n"), "not a URL", task.CodeProtocol},
		"redirect scheme": {answer("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"), `"file"`, task.CodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants(t, look(t, get(c.url)), task.CheckFail, c.code, c.text)
		})
	}
}

func TestServersThatStall(t *testing.T) {
	t.Parallel()
	drip := func(begin, piece string) string {
		return "http://" + raw(t, func(c net.Conn) {
			readRequest(c)
			_, err := io.WriteString(c, begin)
			for err == nil {
				_, err = io.WriteString(c, piece)
				time.Sleep(5 * time.Millisecond) // the drip
			}
		})
	}
	for name, c := range map[string]struct {
		url, text string
		code      task.CheckCode
	}{
		"never answers":  {"http://" + raw(t, hold), "waiting for the first byte", task.CodeFirstByte},
		"drips its body": {drip("HTTP/1.1 200 OK\r\n\r\n", "x"), "in the middle of the body", task.CodeBodyTimeout},
		"drips headers":  {drip("HTTP/1.1 200 OK\r\n", "A: b\r\n"), "in the middle of the headers", task.CodeTimeout},
		"drips a line":   {drip("HTTP/1.1 200 OK", "x"), "in the middle of the headers", task.CodeTimeout},
		"drips chunks":   {drip("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), "in the middle of the body", task.CodeBodyTimeout},
		"drips hints":    {drip("HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"), "in the middle of the headers", task.CodeTimeout},
		"drips on, gone": {drip("HTTP/1.1 302 Found\r\nLocation: http://"+raw(t, hold)+"/\r\n\r\n", "x"), "waiting for the first byte", task.CodeFirstByte},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants(t, stalls(t, get(c.url), c.code), task.CheckFail, c.code, c.text)
		})
	}
}

// What a server can send is limited by what is read of it, and that is what is
// counted here: memory follows.
func TestServersThatSendTooMuch(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(z, zeros{}, 64<<20)
	_ = z.Close()
	const socket = 32 << 20 // what the system may buffer
	for name, c := range map[string]struct {
		head, text string
		body       io.Reader
		most       int64
		code       task.CheckCode
	}{
		"a gigabyte":        {"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", "1048576 bytes", zeros{}, socket, task.CodeBodyTooLarge},
		"without an end":    {"HTTP/1.1 200 OK\r\n\r\n", "1048576 bytes", zeros{}, socket, task.CodeBodyTooLarge},
		"a bomb":            {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "1048576 bytes", &bomb, 1 << 20, task.CodeBodyTooLarge},
		"headers for ever":  {"HTTP/1.1 200 OK\r\nX: ", "headers are over", letters{}, socket, task.CodeProtocol},
		"lines for ever":    {"HTTP/1.1 200 OK\r\n", "headers are over", lines{}, socket, task.CodeProtocol},
		"one line of 5 MB":  {"HTTP/1.1 200 OK\r\n\r\n", "1048576 bytes", io.LimitReader(letters{}, 5<<20), socket, task.CodeBodyTooLarge},
		"a status for ever": {"HTTP/1.1 200 ", "headers are over", letters{}, socket, task.CodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			ended := make(chan struct{})
			url := "http://" + raw(t, func(conn net.Conn) {
				defer close(ended)
				readRequest(conn)
				_, _ = io.WriteString(conn, c.head)
				n, _ := io.Copy(conn, struct{ io.Reader }{c.body})
				sent.Store(n)
			})
			wants(t, look(t, get(url)), task.CheckFail, c.code, c.text)
			<-ended
			if sent.Load() > c.most {
				t.Errorf("%d bytes were taken", sent.Load())
			}
		})
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

type lines struct{}

func (lines) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("Abc: defgh\r\n"), len(p)/12+1)[:len(p)/12*12]), nil
}

func TestOddBodiesAreText(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/line":
			_, _ = io.WriteString(w, strings.Repeat("x", 5<<20)+"end")
		default:
			_, _ = w.Write([]byte("a\xff\xfeb\x00c \xe2\x82"))
		}
	})
	tk := get(s.URL + "/line")
	tk.HTTP.MaxBody = 6 << 20
	tk.HTTP.ExpectBody = "xend$"
	tk.Conditions = []string{"len(body) == 5242883", "body matches 'x+end$'"}
	if m := look(t, tk); m.Outcome != task.CheckOK || len(m.Conditions[1].Value) > 200 {
		t.Errorf("%+v", m)
	}
	tk = get(s.URL)
	tk.Conditions = []string{"body contains 'b' and body == 'x'"}
	m := look(t, tk)
	wants(t, m, task.CheckFail, task.CodeAssertion, "a\uFFFD")
	if !utf8.ValidString(m.Conditions[0].Value) || !strings.HasPrefix(m.Snapshot.Body, "a\uFFFDbc ") {
		t.Errorf("%+v %+v", m, m.Snapshot)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("%s/%d?token=verysecret", s.URL, n-1), http.StatusFound)
		}
		switch r.URL.Path {
		case "/ever":
			http.Redirect(w, r, fmt.Sprintf("/ever?n=%d", len(r.URL.RawQuery)+time.Now().Nanosecond()), http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/turn", http.StatusMovedPermanently)
		case "/turn":
			http.Redirect(w, r, "/circle", http.StatusMovedPermanently)
		case "/self":
			http.Redirect(w, r, "/self", http.StatusTemporaryRedirect)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}
	})
	tk := get(s.URL + "/3")
	tk.Conditions = []string{"redirects == 3", "final_url startsWith '" + s.URL + "/0'"}
	m := look(t, tk)
	if m.Outcome != task.CheckOK || len(m.Hops) != 4 || m.Hops[0].Status != 302 || m.Hops[3].Status != 200 || m.Hops[3].IP != "127.0.0.1" || m.Hops[3].Phases.Connect <= 0 {
		t.Errorf("%+v", m)
	}
	var sum core.Duration
	for _, h := range m.Hops {
		sum += h.Took
		if strings.Contains(h.URL, "verysecret") {
			t.Error(h.URL)
		}
	}
	if sum != m.Latency {
		t.Errorf("the hops took %s together, the latency is %s", sum, m.Latency)
	}
	wants(t, look(t, get(s.URL+"/11")), task.CheckFail, task.CodeRedirectLimit, "stopped after 10 redirects")
	m = look(t, get(s.URL+"/ever"))
	wants(t, m, task.CheckFail, task.CodeRedirectLimit, "stopped after 10 redirects")
	if len(m.Hops) != 11 {
		t.Errorf("%d hops", len(m.Hops))
	}
	wants(t, look(t, get(s.URL+"/circle")), task.CheckFail, task.CodeRedirectLoop, "/circle")
	wants(t, look(t, get(s.URL+"/self")), task.CheckFail, task.CodeRedirectLoop, "/self")
	wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL + "/self", MaxRedirects: -1, ExpectStatus: []string{"307"}}}), task.CheckOK, "", "")
	metadata, inside := look(t, get(s.URL+"/metadata")), look(t, get(s.URL+"/inside"))
	wants(t, metadata, task.CheckFail, task.CodeRedirectBlocked, "redirects to an address that is not public")
	if metadata.Message != inside.Message {
		t.Errorf("%q and %q tell denied addresses apart", metadata.Message, inside.Message)
	}
	for _, m := range []task.CheckResult{metadata, inside} {
		if last := m.Hops[len(m.Hops)-1]; last.IP != "" {
			t.Errorf("the address is shown: %+v", last)
		}
	}
	wants(t, look(t, get("http://169.254.169.254/")), task.CheckError, task.CodeBlocked, "may not be reached")
}

// TestCookiesAreKeptOverRedirects is about targets that want one before they let
// anybody pass. Another check knows nothing of it, nor does another host.
func TestCookiesAreKeptOverRedirects(t *testing.T) {
	t.Parallel()
	var met []string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { met = append(met, r.Header.Get("Cookie")) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		met = append(met, r.Header.Get("Cookie"))
		if _, err := r.Cookie("seen"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
			return
		}
		if r.URL.Path == "/away" {
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		}
	})
	for range 2 {
		met = nil
		wants(t, look(t, get(s.URL+"/")), task.CheckOK, "", "")
		if got := strings.Join(met, "|"); got != "|seen=1" {
			t.Errorf("cookies were %q", got)
		}
	}
	met = nil
	task := get(s.URL + "/away")
	task.HTTP.Headers = map[string]string{"Cookie": "own=2"}
	look(t, task)
	if got := strings.Join(met, "|"); got != "own=2|own=2; seen=1|" {
		t.Errorf("cookies were %q", got)
	}
}
