// Package attempttoken signs and verifies the tokens of attempts: a right to one
// attempt of one job, under one lease, for a short time.
//
// A token is a JWT (RFC 7519) signed with Ed25519. A verifier knows the public
// keys of all signers. It accepts no other algorithm, issuer or audience, and no
// token without an expiry. A valid token only identifies the attempt. Each use
// also checks the row of the lease, so that tokens end with their attempt.
package attempttoken

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	// Life is how long a token is valid.
	Life = 15 * time.Minute
	// Leeway is the tolerated clock skew between nodes.
	Leeway = 30 * time.Second
	// MaxLen limits a token, in bytes.
	MaxLen = 2048

	issuer   = "belfry"
	audience = "attempt"
	scope    = "attempt"
)

// Right is the right that a token gives.
type Right struct {
	Ref       job.Ref
	Session   string
	Namespace string
	Expires   time.Time
}

// Stale reports whether less than half of a token's life is left.
func (r Right) Stale(now time.Time) bool { return r.Expires.Sub(now) < Life/2 }

type claims struct {
	jwt.RegisteredClaims
	Lease     int64  `json:"lease"` // the fencing token
	Session   string `json:"sid"`
	Namespace string `json:"ns"`
	Scope     string `json:"scope"`
}

// Sign returns a token for a right. It expires after Life from now; r.Expires is
// ignored.
func Sign(key access.SigningKey, r Right, now time.Time) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience},
			Subject: strconv.FormatInt(r.Ref.JobID, 10), ID: idOf(r.Ref),
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(Life)),
		},
		Lease: r.Ref.Lease, Session: r.Session, Namespace: r.Namespace, Scope: scope,
	})
	token.Header["kid"] = key.ID
	return token.SignedString(ed25519.NewKeyFromSeed(key.Seed))
}

func idOf(r job.Ref) string { return fmt.Sprintf("%d/%d", r.JobID, r.Lease) }

// Verify returns the right of a token, or an error. key finds public keys by
// their names; its errors are returned unchanged.
func Verify(text string, key func(id string) (ed25519.PublicKey, error), now time.Time) (Right, error) {
	if len(text) > MaxLen {
		return Right{}, refused("it is longer than any token", nil)
	}
	var c claims
	var fault error
	token, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(Leeway), jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	).ParseWithClaims(text, &c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if id == "" || len(id) > 64 {
			return nil, errors.New("it does not name its key")
		}
		var public ed25519.PublicKey
		public, fault = key(id)
		return public, fault
	})
	switch {
	case fault != nil && core.CodeOf(fault) != core.NotFound:
		return Right{}, fault
	case err != nil || !token.Valid:
		return Right{}, refused("it is not valid, or no longer valid", err)
	}
	j, err := strconv.ParseInt(c.Subject, 10, 64)
	r := Right{Ref: job.Ref{JobID: j, Lease: c.Lease}, Session: c.Session, Namespace: c.Namespace, Expires: c.ExpiresAt.Time}
	if err != nil || j < 1 || c.Lease < 1 || c.ID != idOf(r.Ref) || c.Session == "" || c.Scope != scope ||
		c.IssuedAt == nil || c.ExpiresAt.Sub(c.IssuedAt.Time) > Life {
		return Right{}, refused("it is no right to an attempt", err)
	}
	return r, nil
}

func refused(why string, err error) error {
	e := core.Errorf(core.Unauthorized, "the attempt's token was refused: %s", why).
		WithHint("it is renewed by heartbeats, and ends with its attempt")
	e.Err = err
	return e
}
