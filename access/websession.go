package access

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// WebSession is a person who signed in with a browser. Its contents are of no
// use without the key in the browser's cookie: of the key only a hash is kept,
// and the token's secret is sealed with it.
type WebSession struct {
	Hash      string // SHA-256 of the key, in hexadecimal digits
	Sealed    []byte // the token's secret
	CreatedAt time.Time
	SeenAt    time.Time // to the minute
	ExpiresAt time.Time // unless it is seen again before
}

// WebSessionLimits are the limits on how long web sessions last. The zero value means the
// defaults.
type WebSessionLimits struct {
	Idle core.Duration // without a request; default: 24h
	Life core.Duration // in all; default: 14d
}

// Defaults and limits of web sessions.
const (
	DefaultWebIdle = core.Duration(24 * time.Hour)
	DefaultWebLife = core.Duration(14 * 24 * time.Hour)
	MaxWebSessions = 10_000 // of a database; those that would end first make room
	MaxSealed      = 1 << 10

	webSeenEvery = time.Minute
)

// WithDefaults fills empty fields.
func (l WebSessionLimits) WithDefaults() WebSessionLimits {
	return WebSessionLimits{Idle: core.Or(l.Idle, DefaultWebIdle), Life: core.Or(l.Life, DefaultWebLife)}
}

// Seen is the session after a request, and whether that is worth keeping: once
// a minute, so that a busy one costs no write per request.
func (s WebSession) Seen(now time.Time, l WebSessionLimits) (WebSession, bool) {
	if now.Sub(s.SeenAt) < webSeenEvery {
		return s, false
	}
	s.SeenAt = now
	s.ExpiresAt = now.Add(l.Idle.D())
	if end := s.CreatedAt.Add(l.Life.D()); s.ExpiresAt.After(end) {
		s.ExpiresAt = end
	}
	return s, true
}

// Validate returns the problems of a new session.
func (s WebSession) Validate() error {
	var p core.Problems
	if len(s.Hash) != 64 {
		p.Add("hash", "", "is not a hash", "")
	}
	if len(s.Sealed) == 0 || len(s.Sealed) > MaxSealed {
		p.Addf("sealed", len(s.Sealed), "has not 1 to %d bytes", MaxSealed)
	}
	return p.Err("web session")
}
