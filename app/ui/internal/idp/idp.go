// Package idp is a provider of identities for tests: OpenID Connect over
// loopback, with real signatures, codes that count once, and PKCE. It is strict
// about its input, and gives wrong answers on request.
package idp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that it knows. The secret has characters that must be encoded.
const (
	ClientID = "belfry"
	Secret   = "s3cret/+: &%"
)

// Server is a provider with one user.
type Server struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex
	codes map[string]grant
	keys  map[string]crypto.Signer

	// The fields below may be changed between requests.
	Claims   map[string]any              // of the user, besides those of the protocol
	Info     map[string]any              // answer of userinfo; nil: there is none
	Alg      string                      // RS256 (the default), ES256, or none
	Change   func(claims map[string]any) // lies in ID tokens
	Forge    bool                        // sign with a key that is not published
	Deny     bool                        // refuse all
	Ask      bool                        // show a page with a button, instead of saying yes at once
	Down     bool                        // answer nothing but errors
	Keyless  bool                        // answer an error instead of keys
	Methods  []string                    // how a client may show its secret; default: in the header
	Redirect string                      // where people may be sent; default: anywhere, once
	Tokens   int                         // codes that were exchanged
}

type grant struct{ nonce, challenge, redirect string }

// keys are made once: those of RSA take their time.
var keys = sync.OnceValues(func() (map[string]crypto.Signer, error) {
	public, err1 := rsa.GenerateKey(rand.Reader, 2048)
	forged, err2 := rsa.GenerateKey(rand.Reader, 2048)
	curve, err3 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return map[string]crypto.Signer{"RS256": public, "forged": forged, "ES256": curve}, errors.Join(err1, err2, err3)
})

// New starts a provider. It ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	keys, err := keys()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, codes: map[string]grant{}, keys: keys}
	s.Claims = map[string]any{"email": "ann@example.com", "email_verified": true, "groups": []string{"ops"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.discovery)
	mux.HandleFunc("GET /jwks", s.jwks)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /userinfo", s.userinfo)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Down {
			http.Error(w, "out to lunch", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Set changes the provider while it may be asked.
func (s *Server) Set(change func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) {
	doc := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "jwks_uri": s.URL + "/jwks",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"}, // the last two must be of no use
	}
	if s.Info != nil {
		doc["userinfo_endpoint"] = s.URL + "/userinfo"
	}
	if s.Methods != nil {
		doc["token_endpoint_auth_methods_supported"] = s.Methods
	}
	answer(w, http.StatusOK, doc)
}

func base64of(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (s *Server) jwks(w http.ResponseWriter, _ *http.Request) {
	if s.Keyless {
		http.Error(w, "no keys today", http.StatusServiceUnavailable)
		return
	}
	r := s.keys["RS256"].Public().(*rsa.PublicKey)
	e, err := s.keys["ES256"].Public().(*ecdsa.PublicKey).Bytes()
	if err != nil {
		s.t.Error(err)
	}
	answer(w, http.StatusOK, map[string]any{"keys": []map[string]string{
		{"kty": "RSA", "kid": "RS256", "use": "sig", "alg": "RS256", "n": base64of(r.N.Bytes()), "e": "AQAB"},
		{"kty": "EC", "kid": "ES256", "use": "sig", "alg": "ES256", "crv": "P-256", "x": base64of(e[1:33]), "y": base64of(e[33:])},
	}})
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" ||
		q.Get("nonce") == "" || q.Get("state") == "" || s.Redirect != "" && q.Get("redirect_uri") != s.Redirect {
		http.Error(w, "a request that no client of ours makes: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	if s.Ask && q.Get("yes") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,"><h1>Who are you?</h1><p><a id="yes" href="` +
			html.EscapeString(r.URL.RequestURI()+"&yes=1") + `">I am ann</a></p></html>`))
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if s.Deny {
		back.Set("error", "access_denied")
		back.Set("error_description", "not today <b>")
	} else {
		code := rand.Text()
		s.codes[code] = grant{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) { answer(w, status, map[string]string{"error": code}) }
	id, secret, inHeader := r.BasicAuth()
	if inHeader { // both are encoded as forms are
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != Secret || inHeader != (s.Methods == nil) {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	g, known := s.codes[r.PostFormValue("code")]
	delete(s.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || g.challenge != base64of(sum[:]) || g.redirect != r.PostFormValue("redirect_uri") || r.PostFormValue("grant_type") != "authorization_code" {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	s.Tokens++
	now := time.Now()
	claims := map[string]any{"iss": s.URL, "sub": "1", "aud": ClientID, "exp": now.Add(5 * time.Minute).Unix(), "iat": now.Unix(), "nonce": g.nonce}
	for name, value := range s.Claims {
		claims[name] = value
	}
	if s.Change != nil {
		s.Change(claims)
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": s.sign(claims)})
}

func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" || s.Info == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer(w, http.StatusOK, s.Info)
}

func (s *Server) sign(claims map[string]any) string {
	alg := s.Alg
	if alg == "" {
		alg = "RS256"
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			s.t.Error(err)
		}
		return base64of(text)
	}
	text := part(map[string]string{"alg": alg, "kid": alg, "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	switch key := s.keys[alg].(type) {
	case *rsa.PrivateKey:
		if s.Forge {
			key = s.keys["forged"].(*rsa.PrivateKey)
		}
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			s.t.Error(err)
		}
		return text + "." + base64of(signature)
	case *ecdsa.PrivateKey:
		a, b, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			s.t.Error(err)
		}
		return text + "." + base64of(append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...))
	}
	return text + "." // alg none
}
