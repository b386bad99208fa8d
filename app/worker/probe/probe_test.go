package probe_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// local allows what tests listen on, and nothing else that is private.
var local = guard.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}

type result struct {
	job.Finish
	value struct {
		Status   int
		Bytes    int
		Body     string
		Encoded  string
		BodyCut  bool   `json:"body_cut"`
		FinalURL string `json:"final_url"`
	}
	log string
}

func ask(t *testing.T, h task.HTTP, change ...func(*task.Task)) (r result) {
	t.Helper()
	ex := probe.New(probe.Options{Guard: local, Version: "1.2.3"})
	defer ex.Close()
	tk := task.Task{Name: "ask", HTTP: &h}
	for _, c := range change {
		c(&tk)
	}
	var log bytes.Buffer
	r.Finish = worker.Direct(t.Context(), map[task.Kind]worker.Executor{task.KindHTTP: ex}, tk, nil, io.Discard, &log)
	r.log = log.String()
	if len(r.Output) > 0 {
		if err := json.Unmarshal(r.Output, &r.value); err != nil {
			t.Error(err)
		}
	}
	return r
}

func input(text string) func(*task.Task) {
	return func(t *task.Task) { t.Input = json.RawMessage(text) }
}

func within(d time.Duration) func(*task.Task) {
	return func(t *task.Task) { t.Timeout = core.Duration(d) }
}

// stuck asks what never ends its answer. A request that came less far than wanted gets more time, as in [stalls].
func stuck(t *testing.T, url, where string) (r result) {
	t.Helper()
	for _, d := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 15 * time.Second} {
		if r = ask(t, task.HTTP{URL: url}, within(d)); strings.Contains(r.Error, where) {
			break
		}
	}
	return r
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestTheRequestIsSentAsDefined(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r.Clone(context.Background()), string(b)
		_, _ = io.WriteString(w, "fine")
	})
	r := ask(t, task.HTTP{Method: "post", URL: s.URL + "/hook?key=secret", Headers: map[string]string{"X-Api-Key": "secret", "Host": "other.example"}}, input(`{"a":1}`))
	if r.Outcome != job.OutcomeOK || r.value.Status != 200 || r.value.Bytes != 4 || r.value.Body != "fine" || r.value.FinalURL != "" {
		t.Errorf("request: got %+v, want ok, status 200 and body \"fine\"", r)
	}
	for name, want := range map[string]string{
		"User-Agent": "Belfry/1.2.3", "Belfry-Job": "0", "Belfry-Attempt": "1", "Belfry-Task": "ask",
		"Content-Type": "application/json", "X-Api-Key": "secret",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
	if got.Method != "POST" || got.Host != "other.example" || body != `{"a":1}` || !strings.HasPrefix(got.Header.Get("Idempotency-Key"), "belfry-0-") {
		t.Errorf("%s %s %s %s", got.Method, got.Host, body, got.Header)
	}
	if strings.Contains(r.log+r.Error+string(r.Output), "secret") || !strings.Contains(r.log, "/hook?…: 200 OK, 4 bytes in ") {
		t.Errorf("log: %s", r.log)
	}
}

func TestAGetCarriesNoBodyAndABodyMayBeGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s|%s|%s", r.Method, r.Header.Get("Content-Type"), b)
	})
	for want, h := range map[string]task.HTTP{
		"GET||":                 {URL: s.URL},
		"DELETE||":              {URL: s.URL, Method: "DELETE"},
		"PUT||text":             {URL: s.URL, Method: "PUT", Body: "text"},
		"POST|text/plain|hello": {URL: s.URL, Method: "POST", Body: "hello", Headers: map[string]string{"content-type": "text/plain"}},
		"PATCH|a/b|{\"n\":1}":   {URL: s.URL, Method: "PATCH", Headers: map[string]string{"Content-Type": "a/b"}},
	} {
		if r := ask(t, h, input(`{"n":1}`)); r.value.Body != want {
			t.Errorf("%q, want %q", r.value.Body, want)
		}
	}
}

func TestAllAttemptsOfAJobHaveOneKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	keys, attempts := map[string]int{}, []string{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys[r.Header.Get("Idempotency-Key")]++
		attempts = append(attempts, r.Header.Get("Belfry-Attempt"))
		if len(attempts) < 3 {
			w.WriteHeader(500)
		}
	})
	b := leasertest.New()
	b.AddTask(task.Task{Name: "ask", HTTP: &task.HTTP{URL: s.URL}, Retry: task.Retry{Delay: core.Duration(time.Millisecond)}})
	id := b.Enqueue(job.NewJob{Task: "ask"}).ID
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	w, err := worker.New(worker.Options{Leaser: b, Executors: map[task.Kind]worker.Executor{task.KindHTTP: ex}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // the delay of the retry
	}
	if j, _ := b.Job(t.Context(), "", id); j.State != job.Succeeded || len(keys) != 1 || fmt.Sprint(attempts) != "[1 2 3]" {
		t.Errorf("%s %v %v", j.State, keys, attempts)
	}
}

func TestAnAnswerIsJudged(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sick" {
			w.WriteHeader(503)
		}
		_, _ = io.WriteString(w, "the database is down")
	})
	for want, h := range map[string]task.HTTP{
		"": {URL: s.URL},
		"GET " + s.URL + `/sick: expected status 200-299, got 503 Service Unavailable saying "the database is down"`: {URL: s.URL + "/sick"},
		"GET " + s.URL + `: expected status 204, 301-302, got 200 OK saying "the database is down"`:                  {URL: s.URL, ExpectStatus: []string{"204", "301-302"}},
		"GET " + s.URL + `: expected a body that matches "^ok$", got 20 bytes saying "the database is down"`:         {URL: s.URL, ExpectBody: "^ok$"},
	} {
		if r := ask(t, h); r.Error != want || r.NoRetry || r.value.Status == 0 {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	if r := ask(t, task.HTTP{URL: s.URL + "/sick", ExpectStatus: []string{"500-599"}, ExpectBody: "database"}); r.Outcome != job.OutcomeOK {
		t.Errorf("expected status 500-599: got %+v, want ok", r)
	}
}

// The limit is on the whole exchange. Each byte that drips in comes in time.
func TestAServerThatDripsIsEndedByTheTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	r := stuck(t, s.URL, "reading the body")
	if r.Outcome != job.OutcomeTimeout || !strings.Contains(r.Error, "reading the body") || !strings.Contains(r.Error, "status 200") {
		t.Errorf("stalled body: got %+v, want a timeout within the body", r)
	}
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if r := stuck(t, silent.URL, "waiting for the answer"); r.Outcome != job.OutcomeTimeout || !strings.Contains(r.Error, "waiting for the answer") {
		t.Errorf("silent server: got %+v, want a timeout before the answer", r)
	}
}

func TestABodyOverTheCapIsAnErrorThatSaysTheCap(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 1001))
	})
	if r := ask(t, task.HTTP{URL: s.URL, MaxBody: 1000}); !strings.Contains(r.Error, "over the limit of 1000 bytes (max_body)") {
		t.Errorf("body of max_body + 1 bytes: got %+v, want an error", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL, MaxBody: 1001}); r.Outcome != job.OutcomeOK {
		t.Errorf("body of max_body bytes: got %+v, want ok", r)
	}
}

func TestBodiesAreLimitedByTheirDecompressedSize(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(z, zeros{}, 16<<20)
	_ = z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	if r := ask(t, task.HTTP{URL: s.URL}); !strings.Contains(r.Error, "over the limit of 1048576 bytes") {
		t.Errorf("decompression bomb: got %+v, want an error about the limit", r)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTheKeptBodyIsBoundedText(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "\x00é"+strings.Repeat("\x01", 300_000))
	})
	if r := ask(t, task.HTTP{URL: s.URL, KeepBodyBytes: 3}); r.value.Body != "é\x01" || !r.value.BodyCut || r.value.Bytes != 300_003 {
		t.Errorf("kept body of 3 bytes: got %+v", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL, KeepBodyBytes: -1}); r.value.Body != "" {
		t.Errorf("no kept body: got %+v, want an empty body", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL, KeepBodyBytes: core.MaxInput}); r.Outcome != job.OutcomeOK || len(r.Output) > core.MaxOutput || len(r.value.Body) < 100_000 {
		t.Errorf("%d bytes", len(r.Output))
	}
}

func TestRedirectsAreFollowedWithinTheirLimit(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("%s/%d?token=secret", s.URL, n-1), http.StatusFound)
		}
	})
	if r := ask(t, task.HTTP{URL: s.URL + "/10"}); r.Outcome != job.OutcomeOK || r.value.FinalURL != s.URL+"/0?…" {
		t.Errorf("10 redirects: got %+v, want ok", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL + "/11"}); !strings.Contains(r.Error, "stopped after 10 redirects") || strings.Contains(r.Error+r.log, "secret") {
		t.Errorf("11 redirects: got %+v, want an error without secrets", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL + "/2", MaxRedirects: 1}); r.Outcome != job.OutcomeError {
		t.Errorf("redirects over the limit: got %+v, want an error", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL + "/2", MaxRedirects: -1, ExpectStatus: []string{"302"}}); r.Outcome != job.OutcomeOK || r.value.Status != 302 {
		t.Errorf("redirects are not followed: got %+v, want ok with status 302", r)
	}
}

func TestSecretsDoNotFollowToAnotherHost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]http.Header{}
	note := func(name string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[name] = r.Header.Clone()
	}
	var first, other *httptest.Server
	first = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note(r.URL.Path, r)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, first.URL+"/same", http.StatusFound)
		}
	})
	other = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note("other", r)
		http.Redirect(w, r, first.URL+"/back", http.StatusFound)
	})
	headers := map[string]string{"Authorization": "secret", "X-Api-Key": "secret", "Cookie": "secret", "Accept": "text/html"}
	ask(t, task.HTTP{URL: first.URL + "/away?q=secret", Headers: headers})
	ask(t, task.HTTP{URL: first.URL + "/here?q=secret", Headers: headers})
	for _, name := range []string{"other", "/back"} {
		if text := fmt.Sprint(seen[name]); strings.Contains(text, "secret") || seen[name].Get("Accept") != "text/html" || seen[name].Get("Belfry-Task") != "ask" {
			t.Errorf("%s got %s", name, text)
		}
	}
	if got := seen["/same"]; got.Get("X-Api-Key") != "secret" || got.Get("Referer") != "" {
		t.Errorf("the same host got %s", got)
	}
}

func TestAddressesAreGuardedOnEveryHop(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.2:1/?token=secret", http.StatusFound)
	})
	r := ask(t, task.HTTP{URL: s.URL})
	if r.Outcome != job.OutcomeError || !r.NoRetry || !strings.Contains(r.Error, "address 127.0.0.2 is loopback") || !strings.Contains(r.Error, "--allow-addresses") || strings.Contains(r.Error+r.log, "secret") {
		t.Errorf("redirect to a denied address: got %+v, want a permanent error", r)
	}
	if r := ask(t, task.HTTP{URL: "http://169.254.169.254/latest/meta-data"}); !r.NoRetry || !strings.Contains(r.Error, "metadata") {
		t.Errorf("metadata service: got %+v, want a permanent error", r)
	}
	odd := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(302)
	})
	if r := ask(t, task.HTTP{URL: odd.URL}); !strings.Contains(r.Error, `redirect to "file" is not followed`) {
		t.Errorf("redirect to another scheme: got %+v, want an error", r)
	}
}

func TestErrorsDoNotRepeatSecrets(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	bad := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://user:secret@%zz/?q=secret")
		w.WriteHeader(302)
	})
	for _, url := range []string{closed.URL + "/x?key=secret", bad.URL + "/?key=secret", "http://%zz/?key=secret"} {
		r := ask(t, task.HTTP{URL: url, Headers: map[string]string{"Authorization": "secret"}})
		if r.Outcome != job.OutcomeError || strings.Contains(r.Error+r.log+string(r.Output), "secret") {
			t.Errorf("%s: %+v", url, r)
		}
	}
	if r := ask(t, task.HTTP{URL: closed.URL + "/x?key=secret"}); !strings.Contains(r.Error, closed.URL+"/x?…: waiting for the answer: ") || !strings.Contains(r.Error, "connection refused") {
		t.Errorf("refused connection: got %+v, want an error without secrets", r)
	}
}

func TestEchoedAuthIsHidden(t *testing.T) {
	t.Parallel()
	const bearer, password = "bearer-of-the-task", `pass"word&of<the>task`
	basic := base64.StdEncoding.EncodeToString([]byte("joe:" + password))
	said := func(r *http.Request) string {
		if _, plain, ok := r.BasicAuth(); ok {
			return plain
		}
		return r.Header.Get("Authorization")
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		quoted, _ := json.Marshal(said(r))
		switch r.URL.Path {
		case "/moved":
			w.Header().Set("Location", "/at/"+url.PathEscape(strings.TrimPrefix(said(r), "Bearer ")))
			w.WriteHeader(302)
			return
		case "/broken":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s %s\r\n\r\n", said(r), r.Header.Get("Authorization"))
			return
		case "/fault":
			w.WriteHeader(500)
		}
		_, _ = fmt.Fprintf(w, "plain %s json %s html %s query %s whole %s.", said(r), quoted, html.EscapeString(said(r)), url.QueryEscape(said(r)), r.Header.Get("Authorization"))
	})
	hidden := func(t *testing.T, r result) {
		t.Helper()
		all := r.Error + "\n" + r.log + "\n" + r.value.Body + "\n" + r.value.FinalURL
		for _, part := range []string{bearer[:8], "pass", "word&", basic[:8]} {
			if strings.Contains(all, part) {
				t.Errorf("%q is shown in\n%s", part, all)
			}
		}
	}
	for name, auth := range map[string]*task.HTTPAuth{"bearer": {Bearer: bearer}, "basic": {User: "joe", Password: password}} {
		for _, path := range []string{"/", "/fault", "/broken", "/moved"} {
			t.Run(name+path, func(t *testing.T) { hidden(t, ask(t, task.HTTP{URL: s.URL + path, Auth: auth})) })
		}
		for keep := 1; keep < 400; keep += 3 {
			r := ask(t, task.HTTP{URL: s.URL, Auth: auth, KeepBodyBytes: keep})
			hidden(t, r)
			if len(r.value.Body) > keep {
				t.Errorf("%d bytes of the body are kept, want at most %d", len(r.value.Body), keep)
			}
		}
	}
	want := "plain Bearer (secret) json \"Bearer (secret)\" html Bearer (secret) query Bearer+(secret) whole Bearer (secret)."
	if r := ask(t, task.HTTP{URL: s.URL, Auth: &task.HTTPAuth{Bearer: bearer}}); r.value.Body != want || r.value.BodyCut {
		t.Errorf("got %q, cut %v, want %q", r.value.Body, r.value.BodyCut, want)
	}
	// What is no secret stays in the output, as other steps read it.
	named := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Region")) })
	if r := ask(t, task.HTTP{URL: named.URL, Headers: map[string]string{"X-Region": "eu-central-1"}}); r.value.Body != "eu-central-1" {
		t.Errorf("got %q, want the header as the server sent it", r.value.Body)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]int{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr]++
	})
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for range 10 {
		worker.Direct(t.Context(), map[task.Kind]worker.Executor{task.KindHTTP: ex}, task.Task{Name: "a", HTTP: &task.HTTP{URL: s.URL}}, nil, io.Discard, io.Discard)
	}
	if len(from) != 1 {
		t.Errorf("connections: got %v, want one", from)
	}
}
