package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/app/notify"
)

// fault is a way in which a receiver does not take a message.
type fault struct {
	name      string
	answer    http.HandlerFunc
	permanent bool
	after     time.Duration
	says      string
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		echo(w, q)
	}
}

// echo is what some services do when they are not content: they say all that
// they got, in several spellings.
func echo(w io.Writer, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	_, _ = fmt.Fprintf(w, "no such hook %s %q %v %q\n", q.URL.RequestURI(), q.URL.Path, q.Header, q.Host)
	_ = json.NewEncoder(w).Encode(map[string]any{"url": q.URL.String(), "path": strings.Split(q.URL.Path, "/"), "query": q.URL.Query(), "headers": q.Header, "body": string(body)})
}

var faults = []fault{
	{name: "500", answer: status(500), says: "answered 500 Internal Server Error"},
	{name: "503 for a while", answer: status(503, "Retry-After", "120"), after: 2 * time.Minute},
	{name: "429", answer: status(429, "Retry-After", "7"), after: 7 * time.Second, says: "429"},
	{name: "429 until a date", answer: status(429, "Date", "Sun, 01 Mar 2026 10:00:00 GMT", "Retry-After", "Sun, 01 Mar 2026 10:00:30 GMT"), after: 30 * time.Second},
	{name: "429 for ever", answer: status(429, "Retry-After", "99999999999999999999"), after: time.Hour},
	{name: "429 with nonsense", answer: status(429, "Retry-After", "NaN")},
	{name: "408", answer: status(408)},
	{name: "425", answer: status(425)},
	{name: "400", answer: status(400), permanent: true, says: "answered 400 Bad Request: no such hook"},
	{name: "400 that asks to wait", answer: status(400, "Retry-After", "7"), permanent: true},
	{name: "401", answer: status(401), permanent: true},
	{name: "404", answer: status(404), permanent: true},
	{name: "410", answer: status(410), permanent: true},
	{name: "redirect", answer: status(302, "Location", "http://169.254.169.254/latest/"+marker), permanent: true, says: "redirects are not followed"},
	{name: "redirect that keeps the method", answer: status(308, "Location", "/"+marker), permanent: true},
	{name: "not HTTP", answer: raw("SSH-2.0-OpenSSH_9.6 " + marker + "\r\n")},
	{name: "hangs up", answer: raw("")},
	{name: "hangs up in the middle", answer: raw("HTTP/1.1 500 Oh\r\nContent-Length: 1000\r\n\r\nabc " + marker), says: "abc"},
	{name: "headers without end", answer: raw("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 1<<20))},
	{name: "a long answer", answer: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = io.WriteString(w, strings.Repeat(marker+" ", 100000))
	}},
	{name: "an answer cut within the secret", answer: func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, strings.Repeat(" ", 16<<10-len(marker)+1)+marker+q.URL.String())
	}, permanent: true},
	{name: "invalid text", answer: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = io.WriteString(w, "\x00\xff\x1b[31m"+marker)
	}},
}

// lateContext has a deadline that has passed, and does not know it yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// After a machine stood still, a connection may time out before its context: the error is the same.
func TestAConnectionTimesOutBeforeItsContext(t *testing.T) {
	t.Parallel()
	late := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	err := notify.Broken(lateContext{t.Context()}, late)
	if checkFault(t, "late", err, false, "posting took too long"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := notify.Broken(t.Context(), late); strings.Contains(err.Error(), "took too long") {
		t.Errorf("without a deadline: %v", err)
	}
}

// raw takes the connection and says something of its own.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

func TestFaultsOfReceivers(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, f.answer)
			s := newSender(t)
			for name, c := range httpChannels(r.URL) {
				err := s.Send(patient(t), c, messages[0].Message)
				checkFault(t, name, err, f.permanent, f.says)
				if got := notify.RetryAfter(err); got != f.after {
					t.Errorf("%s: after %v, want %v", name, got, f.after)
				}
				if n := len(r.take()); n != 1 {
					t.Errorf("%s: %d requests", name, n)
				}
			}
		})
	}
}

// checkFault is true of every error there is.
func checkFault(t *testing.T, name string, err error, permanent bool, says string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	if notify.Permanent(err) != permanent {
		t.Errorf("%s: permanent is %t: %v", name, !permanent, err)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", name, err, says)
	}
	checkSecrets(t, name, err)
}

func checkSecrets(t *testing.T, name string, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		text := fmt.Sprintf("%v %+v %q %#v", e, e, e, e)
		if strings.Contains(strings.ToLower(text), strings.ToLower(marker[:9])) {
			t.Errorf("%s: it shows the secret: %s", name, text)
		}
		if len(e.Error()) > 1200 || !utf8.ValidString(e.Error()) || strings.ContainsAny(e.Error(), "\x00\x1b\n\r") {
			t.Errorf("%s: not fit to show: %q", name, e)
		}
	}
}

// A secret whose key is missing is only its placeholder. It is sent nowhere, and another node may have the key.
func TestAChannelWhoseSecretsCannotBeOpenedIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(200))
	s := newSender(t)
	for name, c := range httpChannels(r.URL) {
		if c = c.Redacted(); !c.Redacts() {
			continue // it has no secret
		}
		checkFault(t, name, s.Send(patient(t), c, messages[0].Message), false, "seal_key_file")
	}
	if n := len(r.take()); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
}
