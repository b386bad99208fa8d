package attempttoken_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

var (
	now   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	ours  = access.SigningKey{ID: "k1", Seed: []byte(strings.Repeat("a", 32))}
	other = access.SigningKey{ID: "k2", Seed: []byte(strings.Repeat("b", 32))}
	right = attempttoken.Right{Ref: job.Ref{JobID: 7, Lease: 9}, Session: "s", Namespace: "default"}
)

func public(k access.SigningKey) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(k.Seed).Public().(ed25519.PublicKey)
}

func keys(id string) (ed25519.PublicKey, error) {
	if id != ours.ID {
		return nil, core.Errorf(core.NotFound, "no key %s", id)
	}
	return public(ours), nil
}

func sign(t *testing.T, k access.SigningKey) string {
	t.Helper()
	token, err := attempttoken.Sign(k, right, now)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// forged signs claims that differ from good ones; a nil value leaves one out.
func forged(t *testing.T, method jwt.SigningMethod, key any, header, change map[string]any) string {
	t.Helper()
	c := jwt.MapClaims{"iss": "belfry", "aud": "attempt", "sub": "7", "jti": "7/9", "lease": 9, "sid": "s", "ns": "default", "scope": "attempt",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "k1"
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAGoodTokenGivesItsRight(t *testing.T) {
	t.Parallel()
	token := sign(t, ours)
	for _, at := range []time.Time{now, now.Add(-attempttoken.Leeway), now.Add(attempttoken.Life), now.Add(attempttoken.Life + attempttoken.Leeway - time.Second)} {
		got, err := attempttoken.Verify(token, keys, at)
		if err != nil || got.Ref != right.Ref || got.Session != "s" || got.Namespace != "default" || !got.Expires.Equal(now.Add(attempttoken.Life)) {
			t.Errorf("at %s: %+v, %v", at, got, err)
		}
	}
	if len(token) > 600 {
		t.Errorf("a token has %d bytes", len(token))
	}
	r, _ := attempttoken.Verify(token, keys, now)
	if r.Stale(now.Add(attempttoken.Life/2)) || !r.Stale(now.Add(attempttoken.Life/2+time.Second)) {
		t.Error("it is renewed at another time than halfway")
	}
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	private := ed25519.NewKeyFromSeed(ours.Seed)
	der, err := x509.MarshalPKIXPublicKey(public(ours))
	if err != nil {
		t.Fatal(err)
	}
	good := sign(t, ours)
	parts := strings.Split(good, ".")
	claims := func(change map[string]any) string { return forged(t, jwt.SigningMethodEdDSA, private, nil, change) }
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	if _, err := attempttoken.Verify(claims(nil), keys, now); err != nil {
		t.Fatalf("what all others are changed from: %v", err)
	}
	for name, token := range map[string]string{
		"nothing":                          "",
		"no token":                         "belfry_abc",
		"alg none":                         forged(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil),
		"alg none, in another spelling":    encode(map[string]any{"alg": "nOnE", "kid": "k1", "typ": "JWT"}) + "." + parts[1] + ".",
		"the signature cut off":            parts[0] + "." + parts[1] + ".",
		"two parts":                        parts[0] + "." + parts[1],
		"HS256 with the public key":        forged(t, jwt.SigningMethodHS256, []byte(public(ours)), nil, nil),
		"HS256 with the public key as DER": forged(t, jwt.SigningMethodHS256, der, nil, nil),
		"EdDSA in the header, signed HMAC": encode(map[string]any{"alg": "EdDSA", "kid": "k1"}) + "." + strings.SplitN(forged(t, jwt.SigningMethodHS256, []byte(public(ours)), nil, nil), ".", 2)[1],
		"another key":                      forged(t, jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed(other.Seed), nil, nil),
		"another key under its own name":   sign(t, other),
		"no name of a key":                 forged(t, jwt.SigningMethodEdDSA, private, map[string]any{"kid": ""}, nil),
		"a name of a key that is no text":  forged(t, jwt.SigningMethodEdDSA, private, map[string]any{"kid": 1}, nil),
		"a path as the name of a key":      forged(t, jwt.SigningMethodEdDSA, private, map[string]any{"kid": "../../dev/null"}, nil),
		"other claims under the signature": parts[0] + "." + encode(map[string]any{"sub": "8", "exp": now.Add(time.Hour).Unix()}) + "." + parts[2],
		"no end":                           claims(map[string]any{"exp": nil}),
		"an end that is no number":         claims(map[string]any{"exp": "never"}),
		"expired":                          claims(map[string]any{"exp": now.Add(-attempttoken.Leeway - time.Second).Unix(), "iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix()}),
		"good for a year":                  claims(map[string]any{"exp": now.Add(365 * 24 * time.Hour).Unix()}),
		"good for longer than any":         claims(map[string]any{"exp": now.Add(attempttoken.Life + time.Second).Unix()}),
		"not yet good":                     claims(map[string]any{"nbf": now.Add(time.Minute).Unix()}),
		"issued later":                     claims(map[string]any{"iat": now.Add(time.Minute).Unix()}),
		"no begin":                         claims(map[string]any{"nbf": nil}),
		"no issue":                         claims(map[string]any{"iat": nil}),
		"for another audience":             claims(map[string]any{"aud": "api"}),
		"for no audience":                  claims(map[string]any{"aud": nil}),
		"of another issuer":                claims(map[string]any{"iss": "belfr"}),
		"of no issuer":                     claims(map[string]any{"iss": nil}),
		"another scope":                    claims(map[string]any{"scope": "worker"}),
		"no scope":                         claims(map[string]any{"scope": nil}),
		"no session":                       claims(map[string]any{"sid": ""}),
		"no lease":                         claims(map[string]any{"lease": nil}),
		"a lease below one":                claims(map[string]any{"lease": -9, "jti": "7/-9"}),
		"another lease than its name says": claims(map[string]any{"lease": 10}),
		"another job than its name says":   claims(map[string]any{"sub": "8"}),
		"a job that is no number":          claims(map[string]any{"sub": "7 or 1=1", "jti": "7 or 1=1/9"}),
		"longer than any":                  claims(map[string]any{"x": strings.Repeat("x", attempttoken.MaxLen)}),
		"white space":                      good + " ",
		"padding":                          good + "=",
	} {
		r, err := attempttoken.Verify(token, keys, now)
		if core.CodeOf(err) != core.Unauthorized || r != (attempttoken.Right{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if err != nil && token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

func TestAKeyThatCannotBeLookedUpIsNoVerdict(t *testing.T) {
	t.Parallel()
	away := core.Errorf(core.Unavailable, "the database is away")
	_, err := attempttoken.Verify(sign(t, ours), func(string) (ed25519.PublicKey, error) { return nil, away }, now)
	if !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
}

func FuzzVerify(f *testing.F) {
	good, err := attempttoken.Sign(ours, right, now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		r, err := attempttoken.Verify(token, keys, now)
		if err == nil && r.Ref != right.Ref {
			t.Fatalf("%q gives %+v", token, r)
		}
	})
}
