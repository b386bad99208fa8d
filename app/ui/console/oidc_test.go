package console_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/app/ui/internal/idp"
	"github.com/belfry-run/belfry/core"
)

// newSiteWith is a node whose people may sign in through a provider.
func newSiteWith(t *testing.T, p *idp.Server, change ...func(*config.Config)) *site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(idp.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newSite(t, append([]func(*config.Config){func(c *config.Config) {
		c.OIDCIssuer, c.OIDCClientID, c.OIDCSecretFile = p.URL, idp.ClientID, file
		c.OIDCGroups = map[string]string{"ops": "*:admin", "dev": "default:operate shop:read"}
	}}, change...)...)
}

// tokensOf are those that a person has, whatever became of them.
func (s *site) tokensOf(name string) (list []access.Token) {
	s.Helper()
	for _, t := range must(s.Tokens(s.Context()))(s) {
		if t.Name == name {
			list = append(list, t)
		}
	}
	return list
}

func TestSignInThroughProvider(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	s := newSiteWith(t, p)
	v := s.visitor("")
	if _, body := v.get("/queues/default"); !strings.Contains(body, `href="/sign-in/oidc?next=%2Fqueues%2Fdefault"`) || !strings.Contains(body, `name="token"`) {
		t.Fatalf("both ways are not offered: %s", body)
	}
	status, body := v.get("/sign-in/oidc?next=%2Fqueues%2Fdefault")
	if status != http.StatusOK || !strings.Contains(body, "Jobs that name no other queue") || !strings.Contains(body, "ann@example.com") {
		t.Fatalf("%d %s", status, body)
	}
	// What is done, a person has done.
	if _, body = v.post("/queues/default/pause", "note", "why not"); !strings.Contains(body, "paused") {
		t.Fatal(body)
	}
	if last := must(s.Audit(t.Context(), access.AuditFilter{Namespace: core.AnyNamespace, Noun: "queue"}))(s).Items[0]; last.Actor != "oidc:ann@example.com" || last.Action != "pause" {
		t.Errorf("%+v", last)
	}
	made := s.tokensOf("ann@example.com")
	if len(made) != 1 || made[0].Namespace != "*" || made[0].CreatedBy != "oidc:ann@example.com" || made[0].ExpiresAt.Sub(made[0].CreatedAt).Round(1e10) != access.DefaultWebLife.D() {
		t.Fatalf("%+v", made)
	}
	// Who signs in again has one session, and signs out of it.
	v.get("/sign-in/oidc")
	v.post("/sign-out")
	made = s.tokensOf("ann@example.com")
	if len(made) != 2 || made[0].RevokedAt.IsZero() || made[1].RevokedAt.IsZero() {
		t.Errorf("%+v", made)
	}
	if last := must(s.Audit(t.Context(), access.AuditFilter{Namespace: core.AnyNamespace, Noun: "token"}))(s).Items[0]; last.Actor != "oidc:ann@example.com" || last.Action != "revoke" {
		t.Errorf("%+v", last)
	}
	if _, body := v.get("/"); !strings.Contains(body, `name="token"`) {
		t.Error("still signed in")
	}
}

func TestSigningOutLeavesTokensOfOthersAlone(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, idp.New(t))
	secret, _ := s.token("ci", "default", access.ScopeRead)
	s.visitor(secret).post("/sign-out")
	if ci := s.tokensOf("ci"); len(ci) != 1 || !ci[0].RevokedAt.IsZero() {
		t.Errorf("%+v", ci)
	}
}

func TestAPersonWithSeveralGrantsChoosesOne(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	p.Claims["groups"] = []string{"dev"}
	s := newSiteWith(t, p)
	v := s.visitor("")
	_, body := v.get("/sign-in/oidc?next=%2Fqueues")
	if !strings.Contains(body, "Choose a namespace:") || !strings.Contains(body, `href="/sign-in/oidc?next=%2Fqueues&amp;to=shop"`) || len(s.tokensOf("ann@example.com")) > 0 {
		t.Fatalf("%s", body)
	}
	if _, body = v.get("/sign-in/oidc?next=%2Fqueues&to=shop"); !strings.Contains(body, `<span class="unseen">Namespace </span>shop</span>`) {
		t.Errorf("%s", body)
	}
	if made := s.tokensOf("ann@example.com"); len(made) != 1 || made[0].Namespace != "shop" || len(made[0].Scopes) != 1 || made[0].Scopes[0] != access.ScopeRead {
		t.Errorf("%+v", made)
	}
	// Nobody chooses what they were not given.
	if _, body = v.get("/sign-in/oidc?to=*"); !strings.Contains(body, "Choose a namespace:") {
		t.Errorf("%s", body)
	}
}

// away begins to sign in and answers where the provider sends somebody back to,
// without going there.
func (v *visitor) away() string {
	v.Helper()
	v.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/sign-in/oidc/callback") {
			return http.ErrUseLastResponse
		}
		return nil
	}
	defer func() { v.http.CheckRedirect = nil }()
	req, err := http.NewRequestWithContext(v.Context(), "GET", v.url+"/sign-in/oidc", nil)
	if err != nil {
		v.Fatal(err)
	}
	resp, err := v.http.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	back, err := resp.Location()
	if err != nil {
		v.Fatalf("%v: %s", err, body)
	}
	return back.RequestURI()
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	s := newSiteWith(t, p)
	refused := func(name string, v *visitor, path string, status int, says string) {
		t.Helper()
		if got, body := v.get(path); got != status || !strings.Contains(body, says) || !strings.Contains(body, `name="token"`) {
			t.Errorf("%s: %d %s", name, got, body)
		}
		if _, body := v.get("/"); !strings.Contains(body, `name="token"`) {
			t.Errorf("%s: signed in", name)
		}
	}
	const nobodys = "belongs to no sign-in"
	mine, theirs := s.visitor(""), s.visitor("")
	refused("nothing begun", mine, "/sign-in/oidc/callback?state=&code=x", 401, nobodys)
	back := mine.away()
	refused("in another browser", theirs, back, 401, nobodys)
	refused("with another state", mine, back+"x&state=y", 401, nobodys)
	refused("after it was refused", mine, back, 401, nobodys)
	theirs.away()
	refused("another's answer, while one's own is awaited", theirs, back, 401, nobodys)

	// A code that was used is of no use with a state of one's own.
	back = mine.away()
	if status, _ := mine.get(back); status != http.StatusOK {
		t.Fatal("not signed in")
	}
	mine.post("/sign-out")
	refused("again", mine, back, 401, nobodys)
	old, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := url.Parse(theirs.away())
	if err != nil {
		t.Fatal(err)
	}
	q := fresh.Query()
	q.Set("code", old.Query().Get("code"))
	refused("a used code", theirs, fresh.Path+"?"+q.Encode(), 401, "used before")

	p.Set(func(p *idp.Server) { p.Deny = true })
	refused("denied", theirs, theirs.away(), 403, "did not let you in, because of &#34;not today &lt;b&gt;&#34;")
	p.Set(func(p *idp.Server) { p.Deny, p.Claims["groups"] = false, []string{"others"} })
	refused("no group", theirs, theirs.away(), 403, "none of your groups may use this node: others")
	p.Set(func(p *idp.Server) { p.Claims["groups"] = "ops"; p.Claims["email"] = "a b@example.com" })
	refused("no name", theirs, theirs.away(), 422, "is not a name")
	if left := s.tokensOf("ann@example.com"); len(left) != 1 || left[0].RevokedAt.IsZero() {
		t.Errorf("%+v", left)
	}
}

func TestNodeStartsWithoutItsProvider(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	p.Down = true
	s := newSiteWith(t, p)
	v := s.visitor(s.admin) // with a token
	if status, body := v.get("/sign-in/oidc"); status != http.StatusServiceUnavailable || !strings.Contains(body, "cannot be asked just now") || strings.Contains(body, "lunch") {
		t.Errorf("%d %s", status, body)
	}
}

func TestTripIsInACookieOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		public, host string
		want         []string
		back         string
	}{
		"here":         {"", "", []string{"belfry_session_PORT-sign-in=", "Path=/;", "Max-Age=600", "HttpOnly", "SameSite=Lax"}, "/sign-in/oidc/callback"},
		"under a path": {"https://example.com/belfry", "example.com", []string{"__Secure-belfry-sign-in=", "Path=/belfry/;", "Secure"}, "https://example.com/belfry/sign-in/oidc/callback"},
		"behind TLS":   {"https://example.com", "example.com", []string{"__Host-belfry-sign-in=", "Path=/;", "Secure"}, "https://example.com/sign-in/oidc/callback"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiteWith(t, idp.New(t), func(c *config.Config) { c.PublicURL, c.BehindProxy = tt.public, tt.public != "" })
			req, _ := http.NewRequestWithContext(t.Context(), "GET", s.url+"/sign-in/oidc", nil)
			if tt.host != "" {
				req.Host = tt.host
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			cookie := resp.Header.Get("Set-Cookie") + ";"
			for _, w := range tt.want {
				if w = strings.ReplaceAll(w, "PORT", s.url[strings.LastIndex(s.url, ":")+1:]); !strings.Contains(cookie, w) {
					t.Errorf("%q has no %q", cookie, w)
				}
			}
			to, err := resp.Location()
			if err != nil {
				t.Fatal(err)
			}
			if tt.public == "" {
				tt.back = s.url + tt.back
			}
			if got := to.Query().Get("redirect_uri"); got != tt.back {
				t.Errorf("sent back to %s", got)
			}
		})
	}
}

func TestWalkThroughProvider(t *testing.T) {
	t.Parallel()
	p := idp.New(t)
	p.Ask, p.Claims["groups"] = true, []string{"dev"}
	s := newSiteWith(t, p)
	b := browser.Open(t)
	look := func(name string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			b.Emulate(scheme, 1200)
			b.Layout()
			b.Axe()
			picture(b, name+"-"+scheme+"-1200")
		}
		b.Emulate("light", 360)
		b.Layout()
		b.Emulate("light", 1200)
	}
	b.Visit(s.url + "/queues/default")
	b.Shows("Sign in with 127.0.0.1", "or with a token")
	look("sign-in")
	b.Quiet(s.url)
	b.Follow("#provider")
	b.Shows("Who are you?")
	b.Follow("#yes")
	b.Shows("Choose a namespace:", "default", "you may operate", "shop", "you may read")
	b.Visit(s.url + "/sign-in/oidc?next=%2Fqueues%2Fdefault") // as who was away for long
	b.Follow("#yes")
	look("choose")
	b.Follow(`a[href$="to=default"]`)
	b.Follow("#yes")
	b.Shows("Jobs that name no other queue", "ann@example.com")
	b.Visit(s.url + "/queues/default") // where nothing comes from elsewhere any more
	look("signed-in")
	b.Quiet(s.url)
	b.Click(".who summary")
	b.Shows("may operate", "until")
	b.Follow(".who form[action$='/sign-out'] button")
	b.Shows("You are signed out.")
	if made := s.tokensOf("ann@example.com"); len(made) != 1 || made[0].RevokedAt.IsZero() {
		t.Errorf("%+v", made)
	}
}
