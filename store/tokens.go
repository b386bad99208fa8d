package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// secretPrefix lets people and scanners see what a leaked string is.
const secretPrefix = "belfry_"

// hashSecret is what is kept of a secret. Secrets are 256 random bits, so a
// plain hash is as good as a slow one and costs a request nothing.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

const tokenColumns = `id, name, namespace, scopes, labels, expires_at, created_at, created_by, last_used_at, revoked_at`

func scanToken(rows Rows) (t access.Token, err error) {
	return t, rows.Scan(&t.ID, &t.Name, &t.Namespace, scanDoc(&t.Scopes), scanDoc(&t.Labels), scanTime(&t.ExpiresAt), scanTime(&t.CreatedAt), &t.CreatedBy,
		scanTime(&t.LastUsedAt), scanTime(&t.RevokedAt))
}

// CreateToken makes a token and answers its secret, which cannot be had again.
func (s *Store) CreateToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	secret := newSecret(secretPrefix)
	err := s.write(ctx, "create token", func(c *change) (err error) {
		t, err = c.insertToken(t, secret)
		return err
	})
	return t, secret, err
}

// EnsureToken makes a token with a secret that the caller chose, unless one has
// that secret: then it is answered as it is, revoked or not. Callers see to it
// that the secret cannot be guessed.
func (s *Store) EnsureToken(ctx context.Context, t access.Token, secret string) (have access.Token, created bool, err error) {
	err = s.write(ctx, "ensure token", func(c *change) (err error) {
		var found bool
		have, found, err = first(ctx, c.tx, scanToken, `select `+tokenColumns+` from belfry.tokens where hash = $1`, hashSecret(secret))
		if err != nil || found {
			return err
		}
		created = true
		have, err = c.insertToken(t, secret)
		return err
	})
	if err != nil { // another node may have made it at the same moment
		var found bool
		again := s.db.Read(ctx, func(tx Tx) (err error) {
			have, found, err = first(ctx, tx, scanToken, `select `+tokenColumns+` from belfry.tokens where hash = $1`, hashSecret(secret))
			return err
		})
		if again == nil && found {
			return have, false, nil
		}
	}
	return have, created && err == nil, err
}

// newSecret is a secret that nobody guesses.
func newSecret(prefix string) string {
	raw := make([]byte, 32)
	rand.Read(raw) //nolint:errcheck // never fails, by its documentation
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

func (c *change) insertToken(t access.Token, secret string) (access.Token, error) {
	t = t.WithDefaults()
	if err := t.Validate(c.now); err != nil {
		return t, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return t, err
	}
	t.ID, t.CreatedAt, t.CreatedBy = ids[0], c.now, access.ActorOf(c.ctx)
	if _, err := c.tx.Exec(c.ctx, `
		insert into belfry.tokens (id, name, namespace, scopes, labels, hash, expires_at, created_at, created_by)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		t.ID, t.Name, t.Namespace, text(t.Scopes), text(t.Labels), hashSecret(secret), micros(t.ExpiresAt), micros(c.now), t.CreatedBy); err != nil {
		return t, err
	}
	return t, c.audit("create", "token", ownedBy(t.Namespace), strconv.FormatInt(t.ID, 10), "", nil, t)
}

// ownedBy is the namespace in whose audit a token stands, or none.
func ownedBy(namespace string) string {
	if namespace == core.AnyNamespace {
		return ""
	}
	return namespace
}

// Tokens lists all tokens, revoked ones included, oldest first.
func (s *Store) Tokens(ctx context.Context) (all []access.Token, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err = collect(ctx, tx, scanToken, `select `+tokenColumns+` from belfry.tokens order by id`)
		return err
	})
	if all == nil {
		all = []access.Token{}
	}
	return all, err
}

// RevokeToken makes a token worthless and ends the sessions that it opened: what
// they hold is settled as lost. Revoking again changes nothing.
func (s *Store) RevokeToken(ctx context.Context, id int64) error {
	return s.write(ctx, "revoke token", func(c *change) error {
		t, found, err := first(ctx, c.tx, scanToken, `select `+tokenColumns+` from belfry.tokens where id = $1`+s.sql.ForUpdate("tokens"), id)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.NotFound, "no token %d", id).WithHint("see: belfry token list")
		}
		if !t.RevokedAt.IsZero() {
			return nil
		}
		if _, err := c.tx.Exec(ctx, `update belfry.tokens set revoked_at = $2 where id = $1`, id, micros(c.now)); err != nil {
			return err
		}
		if err := c.endSessionsOf(id); err != nil {
			return err
		}
		return c.audit("revoke", "token", ownedBy(t.Namespace), strconv.FormatInt(id, 10), "", t, nil)
	})
}

// usedEvery is how exact the last use of a token is kept, so that a busy token
// does not cost a write per request.
const usedEvery = time.Minute

// Authenticate answers the token of a secret.
func (s *Store) Authenticate(ctx context.Context, secret string) (t access.Token, err error) {
	var now time.Time
	var found bool
	err = s.db.Read(ctx, func(tx Tx) error {
		t, found, err = first(ctx, tx, scanToken, `select `+tokenColumns+` from belfry.tokens where hash = $1`, hashSecret(secret))
		return err
	})
	if err != nil {
		return access.Token{}, err
	}
	if now, err = s.Now(ctx); err != nil {
		return access.Token{}, err
	}
	if !found {
		return access.Token{}, core.Errorf(core.Unauthorized, "the token is unknown").WithHint("make one with: belfry token create")
	}
	if err := t.Refusal(now); err != nil {
		return access.Token{}, err
	}
	if now.Sub(t.LastUsedAt) >= usedEvery {
		s.note(ctx, "use token", `update belfry.tokens set last_used_at = $2 where id = $1`, t.ID, micros(now.Truncate(usedEvery)))
	}
	return t, nil
}

// note writes down that something was used. Whoever used it is not refused when
// that fails: with a full disk, what is there can still be read.
func (s *Store) note(ctx context.Context, name, query string, args ...any) {
	if err := s.write(ctx, name, func(c *change) error {
		_, err := c.tx.Exec(ctx, query, args...)
		return err
	}); err != nil {
		s.opt.Logger.Warn("it could not be noted that it was used", "transition", name, "error", err)
	}
}
