package blob_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

// raw sends a request as it stands, keeps the connection open, and reads the
// answer.
func (s served) raw(t *testing.T, request string) *http.Response {
	t.Helper()
	u, err := url.Parse(s.url)
	must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, request)
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// target is a link as it stands in the first line of a request.
func target(t *testing.T, q blob.SignedRequest) string {
	t.Helper()
	u, err := url.Parse(q.URL)
	must(t, err)
	return u.RequestURI()
}

func (s served) tmp(t *testing.T) []os.DirEntry {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(s.path, "tmp"))
	must(t, err)
	return left
}

// hurry is also how long the answer may take, so a slow machine needs more than a moment.
const hurry = 2 * time.Second

func TestLengthsThatLie(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	s.Hurry(hurry) // what is announced never comes
	to, err := s.SignPut(t.Context(), announce(program), time.Minute)
	must(t, err)
	for head, want := range map[string]int{
		"Content-Length: 9223372036854775807":             http.StatusBadRequest,
		"Content-Length: 99999999999999999999999":         http.StatusBadRequest,
		"Content-Length: -1":                              http.StatusBadRequest,
		"Content-Length: 0":                               http.StatusBadRequest,
		"Transfer-Encoding: chunked":                      http.StatusLengthRequired,
		"Content-Length: 14\r\nContent-Length: 15":        http.StatusBadRequest,
		"Content-Length: 1000000\r\nExpect: 100-continue": http.StatusBadRequest,
	} {
		answer := s.raw(t, "PUT "+target(t, to)+" HTTP/1.1\r\nHost: x\r\n"+head+"\r\n\r\n")
		if answer.StatusCode != want {
			t.Errorf("%q: %s, want %d", head, answer.Status, want)
		}
	}
	if left := s.tmp(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnotherSizeIsRefusedBeforeABodyIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	s.Hurry(hurry) // what is announced never comes
	to, err := s.SignPut(t.Context(), announce(program), time.Minute)
	must(t, err)
	to.URL = strings.Replace(to.URL, "size=14", "size=1000000", 1)
	answer := s.raw(t, "PUT "+target(t, to)+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	if answer.StatusCode != http.StatusForbidden {
		t.Error(answer.Status)
	}
}

func TestFolderUploadsOfStoredBytesAreSkipped(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	for _, size := range []int{0, 1, 100_000, 256 << 10, 300_000, 5 << 20} {
		body := bytes.Repeat([]byte("x"), size)
		to, err := s.SignPut(t.Context(), s.put(t, body), time.Minute)
		must(t, err)
		for range 5 {
			r, err := signed.Request(t.Context(), to, bytes.NewReader(body))
			must(t, err)
			if answer := ask(t, r); answer.StatusCode != http.StatusPreconditionFailed {
				t.Errorf("%d bytes: %s", size, answer.Status)
			}
		}
	}
}

func TestASlowClientIsGivenUp(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	s.Hurry(hurry)
	to, err := s.SignPut(t.Context(), announce(program), time.Minute)
	must(t, err)
	answer := s.raw(t, fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", target(t, to), len(program), program[:5]))
	if answer.StatusCode != http.StatusRequestTimeout || !answer.Close {
		t.Errorf("%s, closes %v", answer.Status, answer.Close)
	}
	if left := s.tmp(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	s.put(t, program)
}

// TestASteadyClientIsWaitedFor has a client that sends piece by piece, by a
// clock of its own.
func TestASteadyClientIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f, err := blob.OpenFolder(dir, blob.Options{})
		must(t, err)
		defer f.Close()
		for _, c := range []struct {
			size, piece int
			each        time.Duration
			want        int
		}{
			{10, 1, 2 * time.Second, http.StatusCreated},
			{10, 1, 4 * time.Second, http.StatusRequestTimeout},          // 30 s for so little
			{3 << 20, 1024, 29 * time.Second, http.StatusRequestTimeout}, // and 126 s for so much
			{3 << 20, 1024, 31 * time.Second, http.StatusRequestTimeout}, // never 30 s without any
			{3 << 20, 1024, 20 * time.Millisecond, http.StatusCreated},
		} {
			body := bytes.Repeat([]byte("x"), c.size)
			to, err := f.SignPut(t.Context(), announce(body), blob.MaxExpires)
			must(t, err)
			w := &connection{ResponseRecorder: httptest.NewRecorder(), left: body, piece: c.piece, each: c.each}
			r := httptest.NewRequest(to.Method, to.URL, w)
			r.ContentLength = int64(c.size)
			f.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%d bytes, %d after each %v: %d %s, want %d", c.size, c.piece, c.each, w.Code, w.Body, c.want)
			}
			if time.Now().After(w.write) {
				t.Error("there is no time left for the answer")
			}
			must(t, f.Delete(t.Context(), announce(body).Digest))
		}
	})
}

// connection is both sides of one.
type connection struct {
	*httptest.ResponseRecorder
	left        []byte
	piece       int
	each        time.Duration
	read, write time.Time
}

func (c *connection) SetReadDeadline(t time.Time) error  { c.read = t; return nil }
func (c *connection) SetWriteDeadline(t time.Time) error { c.write = t; return nil }

func (c *connection) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	time.Sleep(min(c.each, time.Until(c.read)))
	if !time.Now().Before(c.read) {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p[:min(len(p), c.piece)], c.left)
	c.left = c.left[n:]
	return n, nil
}

func TestAClientThatLeavesLeavesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	to, err := s.SignPut(t.Context(), announce(program), time.Minute)
	must(t, err)
	u, err := url.Parse(s.url)
	must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	must(t, err)
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", target(t, to), len(program), program[:5])
	must(t, err)
	must(t, conn.Close())
	s.stop() // waits for the handler
	if left := s.tmp(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	_, err = s.Stat(t.Context(), announce(program).Digest)
	wantCode(t, err, core.NotFound)
	if s.log.String() != "" {
		t.Errorf("log: %s", s.log)
	}
}

func TestTooManyAtOnceAreSentAway(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	s.Busy()
	to, err := s.SignPut(t.Context(), announce(program), time.Minute)
	must(t, err)
	r, err := signed.Request(t.Context(), to, bytes.NewReader(program))
	must(t, err)
	answer := ask(t, r)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
	wantCode(t, signed.Send(t.Context(), http.DefaultClient, to, bytes.NewReader(program)), core.Unavailable)
}

func TestPathsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	up := s.put(t, program)
	from, err := s.SignGet(t.Context(), up.Digest, time.Minute)
	must(t, err)
	query := from.URL[strings.IndexByte(from.URL, '?'):]
	for _, path := range []string{
		"/artifacts/../key", "/artifacts/key", "/artifacts/..%2f..%2fkey", "/artifacts/" + up.Digest + "/", "/", "//", "/artifacts/" + up.Digest + "%00",
		"/artifacts/%2e%2e/" + up.Digest[:63], "/artifacts/" + strings.ToUpper(up.Digest),
	} {
		answer := s.raw(t, "GET "+path+query+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

func TestFolderDownloadsCannotActAsAPage(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	up := s.put(t, []byte("<script>alert(1)</script>"))
	from, err := s.SignGet(t.Context(), up.Digest, time.Minute)
	must(t, err)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		from.Method = method
		r, err := signed.Request(t.Context(), from, nil)
		must(t, err)
		answer := ask(t, r)
		for name, want := range map[string]string{
			"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-store", "ETag": `"` + up.Digest + `"`,
			"Content-Length": "25",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s %s: %q, want %q", method, name, got, want)
			}
		}
	}
	from.Method = http.MethodPost
	r, err := signed.Request(t.Context(), from, nil)
	must(t, err)
	if answer := ask(t, r); answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD, PUT" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
	from.Method = http.MethodHead
	must(t, s.Delete(t.Context(), up.Digest))
	if got := s.status(t, from); got != http.StatusNotFound {
		t.Errorf("head of what is not there: %d", got)
	}
}

// unwrapped is a ResponseWriter without an Unwrap method.
type unwrapped struct{ http.ResponseWriter }

func TestFolderRequestsHaveDeadlines(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	up := s.put(t, program)
	hidden := announce([]byte("other"))
	from, err := s.SignGet(t.Context(), up.Digest, time.Minute)
	must(t, err)
	to, err := s.SignPut(t.Context(), hidden, time.Minute)
	must(t, err)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(unwrapped{w}, r) })
	for _, q := range []blob.SignedRequest{from, to} {
		q.URL = strings.Replace(q.URL, strings.TrimSuffix(s.url, "/artifacts"), server, 1)
		r, err := signed.Request(t.Context(), q, strings.NewReader("other"))
		must(t, err)
		if got := ask(t, r).StatusCode; got != http.StatusInternalServerError {
			t.Errorf("%s: %d", q.Method, got)
		}
	}
}

func TestALinkEndsToTheSecond(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f, err := blob.OpenFolder(dir, blob.Options{})
		must(t, err)
		defer f.Close()
		from, err := f.SignGet(t.Context(), announce(program).Digest, time.Hour)
		must(t, err)
		// 404: the link was good, and there is nothing at its end.
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, http.StatusNotFound}, {time.Hour - time.Second, http.StatusNotFound}, {time.Second, http.StatusForbidden}} {
			time.Sleep(step.wait)
			if got := answerOf(f, from); got != step.want {
				t.Errorf("after %v more: %d, want %d", step.wait, got, step.want)
			}
		}
		if !from.Expires.Equal(time.Now()) {
			t.Errorf("said to end at %v", from.Expires)
		}
	})
}

func newServer(t *testing.T, serve http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	return server.URL
}

// answerOf asks without a network, which a bubble of synctest cannot wait for.
func answerOf(h http.Handler, q blob.SignedRequest) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(q.Method, q.URL, nil))
	return w.Code
}
