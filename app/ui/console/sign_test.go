package console_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/schedule"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor("")

	if status, body := v.get("/queues/default"); status != http.StatusOK || !strings.Contains(body, `value="/queues/default"`) || !strings.Contains(body, s.node.TokenFile()) {
		t.Errorf("who is not signed in is asked to: %d %s", status, body)
	}
	worker, _ := s.token("w", "*", access.ScopeWorker)
	for name, tt := range map[string]struct {
		secret string
		status int
		says   string
	}{
		"nothing":  {"", 422, "is missing"},
		"nonsense": {"belfry_nonsense", 401, "The token is unknown."},
		"a worker": {worker, 403, "may not read"},
	} {
		if status, body := v.post("/sign-in", "token", tt.secret); status != tt.status || !strings.Contains(body, tt.says) || strings.Contains(body, "Signed in with the token") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	status, body := v.post("/sign-in", "token", " "+s.admin+"\n", "next", "/queues/default")
	if status != http.StatusOK || !strings.Contains(body, "Jobs that name no other queue") {
		t.Fatalf("%d %s", status, body)
	}
	if strings.Contains(body, s.admin) {
		t.Error("the page holds the secret")
	}
	if _, body := v.post("/sign-out"); !strings.Contains(body, "You are signed out.") {
		t.Errorf("%s", body)
	}
	if _, body := v.get("/"); !strings.Contains(body, `name="token"`) {
		t.Errorf("still signed in: %s", body)
	}
}

func TestSignInGoesNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, next := range []string{"https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example", "\\\\x", "javascript:alert(1)"} {
		v := s.visitor("")
		v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		form := strings.NewReader("token=" + s.admin + "&next=" + strings.ReplaceAll(next, "&", "%26"))
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+"/sign-in", form)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := v.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if to := resp.Header.Get("Location"); to != "/" {
			t.Errorf("%q leads to %q", next, to)
		}
	}
}

func TestRevokedTokenIsSignedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	secret, id := s.token("short", "default", access.ScopeRead)
	v := s.visitor(secret)
	if err := s.RevokeToken(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, body := v.get("/queues"); !strings.Contains(body, "Your token is no longer valid") {
		t.Errorf("%s", body)
	}
}

func TestChangesFromElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) {})
	v := s.visitor(s.admin)
	for name, header := range map[string][2]string{
		"another site": {"Sec-Fetch-Site", "cross-site"}, "a subdomain": {"Sec-Fetch-Site", "same-site"}, "an old browser": {"Origin", "https://elsewhere.example"},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+"/queues/default/pause", nil)
		req.Header.Set(header[0], header[1])
		resp, err := v.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if q := must(s.Queue(t.Context(), "default"))(s); !q.PausedAt.IsZero() {
		t.Error("the queue is paused")
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		public string
		host   string // asked for
		want   []string
	}{
		"plain":                {"", "", []string{"belfry_session_PORT=", "Path=/;", "HttpOnly", "SameSite=Lax"}},
		"behind TLS":           {"https://belfry.example.com", "belfry.example.com", []string{"__Host-belfry=", "Path=/;", "Secure"}},
		"under a path":         {"https://example.com/belfry", "example.com", []string{"__Secure-belfry=", "Path=/belfry/;", "Secure"}},
		"past the proxy":       {"https://belfry.example.com", "", []string{"belfry_session_PORT=", "Path=/;"}},
		"plain behind a proxy": {"http://belfry.example.com", "belfry.example.com", []string{"belfry_session=", "Path=/;"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *config.Config) { c.PublicURL, c.BehindProxy = tt.public, tt.public != "" })
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+"/sign-in", strings.NewReader("token="+s.admin))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if tt.host != "" {
				req.Host = tt.host
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			cookie := resp.Header.Get("Set-Cookie")
			_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
			for _, w := range tt.want {
				w = strings.ReplaceAll(w, "PORT", port)
				if !strings.Contains(cookie+";", w) {
					t.Errorf("%q has no %q", cookie, w)
				}
			}
		})
	}
}

// Two nodes on one machine share a browser's cookies, but for their names.
func TestNodesBesideEachOther(t *testing.T) {
	t.Parallel()
	one, other := newSite(t), newSite(t)
	v := one.visitor(one.admin)
	v.url = other.url
	if _, body := v.post("/sign-in", "token", other.admin); !strings.Contains(body, "Nothing happens here yet.") {
		t.Fatalf("%s", body)
	}
	v.url = one.url
	if status, body := v.get("/queues"); status != http.StatusOK || !strings.Contains(body, "<h1>Queues</h1>") {
		t.Errorf("signed out of the first: %d %s", status, body)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) { c.PublicURL = "http://127.0.0.1/belfry" })
	v := s.visitor("")
	if status, body := v.post("/belfry/sign-in", "token", s.admin); status != http.StatusOK || !strings.Contains(body, `href="/belfry/queues"`) {
		t.Fatalf("%d %s", status, body)
	}
	for _, path := range []string{"/belfry/", "/belfry/queues", "/belfry/queues/default"} {
		status, body := v.get(path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, bad := range []string{`href="/q`, `src="/assets`, `href="/assets`, `action="/q`, `action="/sign`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
}

func TestFormThatIsRefusedIsShownAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if status, body := s.visitor(s.admin).post("/design"); status != http.StatusConflict || !strings.Contains(body, "<h1>Design</h1>") {
		t.Errorf("%d %s", status, body)
	}
}

// A form that is too large or broken does nothing, rather than what an empty
// one asks for.
func TestFormThatCannotBeReadDoesNothing(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	for _, tt := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/monitors/shop/pause", "for=2h&reason=" + strings.Repeat("a", 1<<20), http.StatusRequestEntityTooLarge, "The form is over its limit of 1 MiB."},
		{"/monitors/shop/edit", "every=5m&do=save&check.http.body=" + strings.Repeat("a", 1<<20), http.StatusRequestEntityTooLarge, "over its limit"},
		{"/tasks/hello/edit", "definition=" + strings.Repeat("a", 1<<20), http.StatusRequestEntityTooLarge, "over its limit"},
		{"/monitors/shop/pause", "for=2h&reason=%zz", http.StatusUnprocessableEntity, "The form could not be read"},
		{"/schedules/-bulk", "do=pause&seen=yes&name=default/hourly&reason=%zz", http.StatusUnprocessableEntity, "The form could not be read"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", s.url)
		resp := must(v.http.Do(req))(s)
		body := must(io.ReadAll(resp.Body))(s)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) {
			t.Errorf("%s answered %d, or did not say %q", tt.path, resp.StatusCode, tt.says)
		}
	}
	if m := must(s.Monitor(t.Context(), "default", "shop"))(s); !m.State.PausedAt.IsZero() {
		t.Error("the monitor is paused")
	}
	if sc := must(s.Schedule(t.Context(), "", "hourly"))(s); sc.State != schedule.Active {
		t.Error("the schedule is paused")
	}
}
