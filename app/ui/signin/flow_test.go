package signin_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/internal/idp"
	"github.com/belfry-run/belfry/app/ui/signin"
	"github.com/belfry-run/belfry/core"
)

const redirect = "http://127.0.0.1:1/sign-in/oidc/callback"

// newProvider is one that believes a server.
func newProvider(t *testing.T, s *idp.Server, change ...func(*signin.Options)) *signin.Provider {
	t.Helper()
	o := signin.Options{
		Issuer: s.URL, ClientID: idp.ClientID, Secret: func() (string, error) { return idp.Secret, nil },
		Admission: access.Admission{Groups: map[string][]access.Grant{"ops": {{Namespace: "*", Scope: access.ScopeAdmin}}}},
		Logger:    slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&o)
	}
	p, err := signin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Cleanup(func() { _ = p.Run(ctx) }) // closes connections
	return p
}

// visit goes where somebody is sent, and answers the query they come back with.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	back, err := resp.Location()
	if err != nil || !strings.HasPrefix(back.String(), redirect+"?") {
		t.Fatalf("sent to %v: %s", back, body)
	}
	return back.Query()
}

// walk signs in, with a lie of the browser.
func walk(t *testing.T, p *signin.Provider, lie func(*signin.Flow, url.Values)) (signin.Person, error) {
	t.Helper()
	address, f, err := p.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	answer := visit(t, address)
	if lie != nil {
		lie(&f, answer)
	}
	return p.Finish(t.Context(), netip.Prefix{}, f, redirect, answer)
}

func TestSignInSucceedsWithEachKindOfProvider(t *testing.T) {
	for name, change := range map[string]func(*idp.Server){
		"RS256":                 func(s *idp.Server) {},
		"ES256":                 func(s *idp.Server) { s.Alg = "ES256" },
		"secret in the form":    func(s *idp.Server) { s.Methods = []string{"client_secret_post"} },
		"clocks differ a bit":   func(s *idp.Server) { s.Change = set("exp", time.Now().Add(-30*time.Second).Unix()) },
		"verified as a text":    func(s *idp.Server) { s.Claims["email_verified"] = "True" },
		"verified as a number":  func(s *idp.Server) { s.Claims["email_verified"] = 1 },
		"nothing of verified":   func(s *idp.Server) { delete(s.Claims, "email_verified") },
		"two audiences":         func(s *idp.Server) { s.Change = set("aud", []string{idp.ClientID, "other"}, "azp", idp.ClientID) },
		"one group as a text":   func(s *idp.Server) { s.Claims["groups"] = "ops" },
		"groups from user info": func(s *idp.Server) { delete(s.Claims, "groups"); s.Info = ann("groups", []string{"x", "ops"}) },
		"nothing but user info": func(s *idp.Server) { s.Claims = nil; s.Info = ann("groups", []string{"ops"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := idp.New(t)
			change(s)
			who, err := walk(t, newProvider(t, s), nil)
			if err != nil || who.Name != "ann@example.com" || fmt.Sprint(who.Grants) != "[*:admin]" {
				t.Errorf("%+v %v, because of %v", who, err, signin.Cause(err))
			}
		})
	}
}

// ann is what user info says.
func ann(pairs ...any) map[string]any {
	claims := map[string]any{"sub": "1", "email": "ann@example.com", "email_verified": true}
	set(pairs...)(claims)
	return claims
}

func set(pairs ...any) func(map[string]any) {
	return func(claims map[string]any) {
		for i := 0; i < len(pairs); i += 2 {
			claims[pairs[i].(string)] = pairs[i+1]
		}
	}
}

func TestAttacks(t *testing.T) {
	past, future := time.Now().Add(-10*time.Minute).Unix(), time.Now().Add(time.Hour).Unix()
	tests := map[string]struct {
		provider func(*idp.Server)
		browser  func(*signin.Flow, url.Values)
		code     core.Code
		says     string // to people
		because  string // to the log
		asked    bool   // whether a code may have been used
	}{
		"another state":     {browser: func(_ *signin.Flow, a url.Values) { a.Set("state", "x") }, says: "belongs to no sign-in"},
		"no state":          {browser: func(_ *signin.Flow, a url.Values) { a.Del("state") }, says: "belongs to no sign-in"},
		"no flow":           {browser: func(f *signin.Flow, a url.Values) { *f = signin.Flow{}; a.Del("state") }, says: "belongs to no sign-in"},
		"half a flow":       {browser: func(f *signin.Flow, a url.Values) { f.Nonce = "" }, says: "belongs to no sign-in"},
		"another's answer":  {browser: func(f *signin.Flow, a url.Values) { a.Set("error", "access_denied"); a.Set("state", "x") }, says: "belongs to no sign-in"},
		"mixed up provider": {browser: func(_ *signin.Flow, a url.Values) { a.Set("iss", "https://elsewhere.example") }, says: "another provider"},
		"no code":           {browser: func(_ *signin.Flow, a url.Values) { a.Del("code") }, says: "no code"},
		"made-up code":      {browser: func(_ *signin.Flow, a url.Values) { a.Set("code", "x") }, says: "does not know this code"},
		"stolen code":       {browser: func(f *signin.Flow, _ url.Values) { f.Verifier = strings.Repeat("x", 43) }, says: "does not know this code"},
		"another nonce": {provider: func(s *idp.Server) { s.Change = set("nonce", "x") },
			says: "cannot be believed", because: "nonce", asked: true},
		"no nonce": {provider: func(s *idp.Server) { s.Change = func(c map[string]any) { delete(c, "nonce") } },
			says: "cannot be believed", because: "nonce", asked: true},
		"for another client": {provider: func(s *idp.Server) { s.Change = set("aud", "other") },
			says: "cannot be believed", because: "expected audience", asked: true},
		"for several": {provider: func(s *idp.Server) { s.Change = set("aud", []string{idp.ClientID, "other"}) },
			says: "cannot be believed", because: "issued to", asked: true},
		"issued to another": {provider: func(s *idp.Server) { s.Change = set("azp", "other") },
			says: "cannot be believed", because: "issued to", asked: true},
		"expired": {provider: func(s *idp.Server) { s.Change = set("exp", past) },
			says: "was over at", because: "expired", asked: true},
		"not yet": {provider: func(s *idp.Server) { s.Change = set("nbf", future) },
			says: "is not valid yet", because: "not before", asked: true},
		"from the future": {provider: func(s *idp.Server) { s.Change = set("iat", future, "exp", future+60) },
			says: "and here it is", asked: true},
		"not signed": {provider: func(s *idp.Server) { s.Alg = "none" },
			says: "cannot be believed", because: "alg", asked: true},
		"signed with the public": {provider: func(s *idp.Server) { s.Alg = "HS256" },
			says: "cannot be believed", because: "alg", asked: true},
		"signed by another": {provider: func(s *idp.Server) { s.Forge = true },
			says: "cannot be believed", because: "signature", asked: true},
		"another issuer": {provider: func(s *idp.Server) { s.Change = set("iss", "https://elsewhere.example") },
			says: "cannot be believed", because: "different provider", asked: true},
		"no subject": {provider: func(s *idp.Server) { s.Change = func(c map[string]any) { delete(c, "sub") } },
			says: "cannot be believed", because: "no subject", asked: true},
		"an empty subject": {provider: func(s *idp.Server) { s.Change = set("sub", "") },
			says: "cannot be believed", because: "no subject", asked: true},
		"keys that cannot be had": {provider: func(s *idp.Server) { s.Keyless = true }, code: core.Unavailable,
			says: "cannot be asked just now", because: "fetching keys", asked: true},
		"user info of another": {provider: func(s *idp.Server) { s.Info = ann("sub", "2"); delete(s.Claims, "groups") },
			says: "cannot be believed", because: `told of "2"`, asked: true},
		"denied": {provider: func(s *idp.Server) { s.Deny = true }, code: core.Forbidden, says: `did not let you in, because of "not today <b>"`},
		"no group fits": {provider: func(s *idp.Server) { s.Claims["groups"] = []string{"a", "b"} }, code: core.Forbidden,
			says: "none of your groups may use this node: a, b", asked: true},
		"no groups": {provider: func(s *idp.Server) { delete(s.Claims, "groups") }, code: core.Forbidden, says: "names no group of yours", asked: true},
		"no name":   {provider: func(s *idp.Server) { delete(s.Claims, "email") }, code: core.Forbidden, says: `sends no "email"`, asked: true},
		"somebody else's address": {provider: func(s *idp.Server) { s.Claims["email_verified"] = false }, code: core.Forbidden,
			says: "has not verified", asked: true},
		"not verified, as a text": {provider: func(s *idp.Server) { s.Claims["email_verified"] = "False" }, code: core.Forbidden,
			says: "has not verified", asked: true},
		"not verified, as a number": {provider: func(s *idp.Server) { s.Claims["email_verified"] = 0 }, code: core.Forbidden,
			says: "has not verified", asked: true},
		"user info says it is not verified": {provider: func(s *idp.Server) {
			s.Claims = map[string]any{"email": "ann@example.com"}
			s.Info = ann("email_verified", "false")
		},
			code: core.Forbidden, says: "has not verified", asked: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := idp.New(t)
			if tt.provider != nil {
				tt.provider(s)
			}
			if tt.code == "" {
				tt.code = core.Unauthorized
			}
			who, err := walk(t, newProvider(t, s), tt.browser)
			if core.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || !strings.Contains(signin.Cause(err), tt.because) {
				t.Errorf("%+v %v, because of %v", who, err, signin.Cause(err))
			}
			if (s.Tokens > 0) != tt.asked {
				t.Errorf("%d codes were exchanged", s.Tokens)
			}
		})
	}
}

func TestCodeCountsOnce(t *testing.T) {
	s := idp.New(t)
	p := newProvider(t, s)
	var old string
	if _, err := walk(t, p, func(_ *signin.Flow, a url.Values) { old = a.Get("code") }); err != nil {
		t.Fatal(err)
	}
	_, err := walk(t, p, func(_ *signin.Flow, a url.Values) { a.Set("code", old) })
	if core.CodeOf(err) != core.Unauthorized || !strings.Contains(err.Error(), "used before") {
		t.Error(err)
	}
}

func TestWrongSecretIsTheOperatorsMatter(t *testing.T) {
	p := newProvider(t, idp.New(t), func(o *signin.Options) { o.Secret = func() (string, error) { return "wrong", nil } })
	if _, err := walk(t, p, nil); !strings.Contains(err.Error(), `refused this node: "invalid_client"`) || strings.Contains(err.Error(), "wrong ") {
		t.Error(err)
	}
}

func TestProviderThatIsDownIsFoundLater(t *testing.T) {
	s := idp.New(t)
	s.Down = true
	now := time.Now()
	p := newProvider(t, s, func(o *signin.Options) { o.Now = func() time.Time { return now } })
	begin := func() error {
		_, _, err := p.Begin(t.Context(), redirect)
		return err
	}
	if err := begin(); core.CodeOf(err) != core.Unavailable || strings.Contains(err.Error(), "lunch") || !strings.Contains(signin.Cause(err), "lunch") {
		t.Errorf("%v, because of %v", err, signin.Cause(err))
	}
	s.Set(func(s *idp.Server) { s.Down = false })
	if err := begin(); core.CodeOf(err) != core.Unavailable {
		t.Errorf("asked again at once: %v", err)
	}
	now = now.Add(3 * time.Second)
	if err := begin(); err != nil {
		t.Error(err)
	}
}

func TestProviderThatCallsItselfOtherwise(t *testing.T) {
	s := idp.New(t)
	p := newProvider(t, s, func(o *signin.Options) { o.Issuer += "/" })
	if _, _, err := p.Begin(t.Context(), redirect); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), s.URL) || !strings.Contains(err.Error(), "last slash") {
		t.Error(err)
	}
}

func TestWhereSecretsMayGo(t *testing.T) {
	for address, want := range map[string]bool{
		"https://a.example/x": true, "http://127.0.0.1:5/x": true, "http://localhost": true, "http://[::1]:5": true,
		"http://a.example": false, "http://localhost.example": false, "": false, "/x": false, "ftp://127.0.0.1": false, "https:///x": false,
	} {
		if got := signin.Confidential(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
