package signed_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

func TestSendExplainsTheAnswerOfAStore(t *testing.T) {
	t.Parallel()
	const xml = `<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>No match.</Message><StringToSign>hunter2</StringToSign></Error>`
	for _, c := range []struct {
		status     int
		kind, body string
		code       core.Code
		text       string
	}{
		{200, "", "", "", ""},
		{201, "", "", "", ""},
		{412, "text/plain", "there", "", ""},
		{403, "application/xml", xml, core.Forbidden, "SignatureDoesNotMatch: No match. (the operator must check the bucket of artifacts"},
		{403, "text/plain; charset=utf-8", "this link\nhas \x1b[31mexpired", core.Forbidden, "this link has [31mexpired (the link may have expired"},
		{400, "text/plain", "", core.Invalid, "Bad Request"},
		{404, "application/xml", strings.ReplaceAll(xml, "SignatureDoesNotMatch", "NoSuchBucket"), core.NotFound, "NoSuchBucket: No match. (the operator must check the bucket of artifacts"},
		{404, "text/html", "<h1>hunter2</h1>", core.NotFound, "Not Found"},
		{409, "", "", core.Unavailable, "Conflict"},
		{411, "", "", core.Invalid, "Length Required"},
		{413, "text/plain", strings.Repeat("x", 100_000), core.TooLarge, "xxx"},
		{307, "", "", core.Unavailable, "Temporary Redirect"},
		{507, "text/plain", "full", core.Unavailable, "full"},
	} {
		url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		q := task.SignedRequest{Method: http.MethodPut, URL: url + "/x?signature=hunter2", Headers: map[string]string{"Content-Length": "3"}}
		err := signed.Send(t.Context(), http.DefaultClient, q, strings.NewReader("abc"))
		wantCode(t, err, c.code)
		if err == nil {
			continue
		}
		if s := err.Error(); !strings.Contains(s, c.text) || strings.Contains(s, "hunter2") || strings.Contains(s, "\x1b") || len(s) > 600 {
			t.Errorf("%d: %s", c.status, s)
		}
	}
}

func TestSendKeepsALinkToItself(t *testing.T) {
	t.Parallel()
	q := task.SignedRequest{Method: http.MethodPut, URL: "http://127.0.0.1:1/x?signature=hunter2", Headers: map[string]string{"Content-Length": "3"}}
	if err := signed.Send(t.Context(), http.DefaultClient, q, strings.NewReader("abc")); err == nil || !strings.Contains(err.Error(), "(check the network, and whether a proxy") {
		t.Error(err)
	}
	for _, url := range []string{q.URL, "http://[hunter2", "://hunter2"} {
		q.URL = url
		err := signed.Send(t.Context(), http.DefaultClient, q, strings.NewReader("abc"))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := signed.Send(ctx, http.DefaultClient, q, strings.NewReader("abc")); err == nil {
		t.Error(err)
	}
	q.URL = "http://127.0.0.1:1/x"
	if err := signed.Send(ctx, http.DefaultClient, q, strings.NewReader("abc")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	q.Headers["Content-Length"] = "many"
	wantCode(t, signed.Send(t.Context(), http.DefaultClient, q, strings.NewReader("abc")), core.Invalid)
}

func TestARequestSaysItsLengthAndAsksBeforeItSendsMuch(t *testing.T) {
	t.Parallel()
	for length, want := range map[string]string{"0": "", "3": "", "5000000": "100-continue"} {
		q := task.SignedRequest{Method: http.MethodPut, URL: "http://x/", Headers: map[string]string{"content-length": length, "host": "elsewhere", "x-y": "z"}}
		r, err := signed.Request(t.Context(), q, strings.NewReader("abc"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Get("Expect") != want || r.Host != "elsewhere" || r.Header.Get("X-Y") != "z" || r.Header.Get("Content-Length") != "" {
			t.Errorf("%s: %+v", length, r)
		}
		if (length == "0") != (r.Body == http.NoBody) {
			t.Errorf("%s: body %v", length, r.Body)
		}
	}
}

func wantCode(t *testing.T, err error, want core.Code) {
	t.Helper()
	if got := core.CodeOf(err); got != want {
		t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

func newServer(t *testing.T, serve http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	return server.URL
}

func TestALinkThatIsAPathBelongsToTheServerThatGaveIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, url, want string }{
		{"https://belfry.example.org", "/artifacts/ab?x=1", "https://belfry.example.org/artifacts/ab?x=1"},
		{"https://example.org/belfry/", "/artifacts/ab", "https://example.org/belfry/artifacts/ab"},
		{"", "https://s3.example.org/ab", "https://s3.example.org/ab"},
		{"", "/artifacts/ab", ""},
	} {
		q, err := signed.At(c.base, task.SignedRequest{URL: c.url})
		if c.want == "" {
			wantCode(t, err, core.Invalid)
		} else if err != nil || q.URL != c.want {
			t.Errorf("%s at %s: %s %v, want %s", c.url, c.base, q.URL, err, c.want)
		}
	}
}
