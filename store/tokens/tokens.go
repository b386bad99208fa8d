package tokens

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/locks"
)

// TokenColumns are the columns that [ScanToken] reads, in its order.
const TokenColumns = `id, name, namespace, scopes, labels, expires_at, created_at, created_by, last_used_at, revoked_at`

// ScanToken reads one row of [TokenColumns].
func ScanToken(rows base.Rows) (t access.Token, err error) {
	return t, rows.Scan(&t.ID, &t.Name, &t.Namespace, base.ScanDoc(&t.Scopes), base.ScanDoc(&t.Labels), base.ScanTime(&t.ExpiresAt), base.ScanTime(&t.CreatedAt), &t.CreatedBy,
		base.ScanTime(&t.LastUsedAt), base.ScanTime(&t.RevokedAt))
}

// CreateToken creates a token and returns its secret, which cannot be read again. If the same actor repeats the call, because
// the answer was lost, the error names the token.
func (s *Store) CreateToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	return s.createToken(ctx, t, func(c *Change) error {
		if err := Alone(c.Change); err != nil {
			return err
		}
		t := t.WithDefaults()
		had, err := base.Collect(ctx, c.Tx, ScanToken, `
			select `+TokenColumns+` from belfry.tokens
			where name = $1 and namespace = $2 and created_by = $3 and revoked_at = 0
			order by id desc`, t.Name, t.Namespace, access.ActorOf(ctx))
		for _, h := range had {
			if h.Refusal(c.Now) == nil && h.CreatedBy != access.PersonActor(h.Name) { // the token of a session may have any name
				return Exists("token", "belfry token revoke", h.Name, h.ID, h.CreatedAt)
			}
		}
		return err
	})
}

// Alone serializes the creation of tokens: a concurrent repeat would not see the first token.
func Alone(c *base.Change) error {
	return locks.Rows{Table: "tokens", Key: "id", Where: "id = (select min(id) from belfry.tokens where id > $1)", Of: int64(0)}.Lock(c)
}

// Exists returns the error for a second token of a name.
func Exists(noun, revoke, name string, id int64, made time.Time) error {
	return core.Errorf(core.Conflict, "%s %q already exists: id %d, created by you at %s; its secret is shown once", noun, name, id, core.Stamp(made)).
		WithHint("choose another name, or revoke it first: %s %d", revoke, id)
}

// IssueToken is CreateToken for tokens that are not requested by name: several may have the same name.
func (s *Store) IssueToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	return s.createToken(ctx, t, func(*Change) error { return nil })
}

func (s *Store) createToken(ctx context.Context, t access.Token, allow func(c *Change) error) (access.Token, string, error) {
	secret := base.NewSecret(base.SecretPrefix)
	err := s.write(ctx, "create token", func(c *Change) (err error) {
		if err := allow(c); err != nil {
			return err
		}
		t, err = c.InsertToken(t, secret)
		return err
	})
	return t, secret, err
}

// EnsureToken creates a token with a secret chosen by the caller. If a token with this secret exists, revoked or not, it is
// returned unchanged. The caller ensures that the secret cannot be guessed.
func (s *Store) EnsureToken(ctx context.Context, t access.Token, secret string) (have access.Token, created bool, err error) {
	err = s.write(ctx, "ensure token", func(c *Change) (err error) {
		var found bool
		have, found, err = base.First(ctx, c.Tx, ScanToken, `select `+TokenColumns+` from belfry.tokens where hash = $1`, base.HashSecret(secret))
		if err != nil || found {
			return err
		}
		created = true
		have, err = c.InsertToken(t, secret)
		return err
	})
	if err != nil { // another node may have created it at the same time
		var found bool
		again := s.DB().Read(ctx, func(tx base.Tx) (err error) {
			have, found, err = base.First(ctx, tx, ScanToken, `select `+TokenColumns+` from belfry.tokens where hash = $1`, base.HashSecret(secret))
			return err
		})
		if again == nil && found {
			return have, false, nil
		}
	}
	return have, created && err == nil, err
}

// InsertToken creates a token for a secret, of which only the digest is stored.
func (c *Change) InsertToken(t access.Token, secret string) (access.Token, error) {
	t = t.WithDefaults()
	if err := t.Validate(c.Now); err != nil {
		return t, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return t, err
	}
	t.ID, t.CreatedAt, t.CreatedBy = ids[0], c.Now, access.ActorOf(c.Ctx)
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.tokens (id, name, namespace, scopes, labels, hash, expires_at, created_at, created_by)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		t.ID, t.Name, t.Namespace, base.Text(t.Scopes), base.Text(t.Labels), base.HashSecret(secret), base.Micros(t.ExpiresAt), base.Micros(c.Now), t.CreatedBy); err != nil {
		return t, err
	}
	return t, c.Audit("create", "token", base.OwnedBy(t.Namespace), strconv.FormatInt(t.ID, 10), "", nil, t)
}

// Tokens lists all tokens, revoked ones included, oldest first.
func (s *Store) Tokens(ctx context.Context) (all []access.Token, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err = base.Collect(ctx, tx, ScanToken, `select `+TokenColumns+` from belfry.tokens order by id`)
		return err
	})
	if all == nil {
		all = []access.Token{}
	}
	return all, err
}

// usedEvery is the precision of a token's last use, so that a busy token does not cost a write per request.
const usedEvery = time.Minute

// Authenticate returns the token of a secret.
func (s *Store) Authenticate(ctx context.Context, secret string) (t access.Token, err error) {
	var now time.Time
	var found bool
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		t, found, err = base.First(ctx, tx, ScanToken, `select `+TokenColumns+` from belfry.tokens where hash = $1`, base.HashSecret(secret))
		return err
	})
	if err != nil {
		return access.Token{}, err
	}
	if now, err = s.Now(ctx); err != nil {
		return access.Token{}, err
	}
	if !found {
		return access.Token{}, core.Errorf(core.Unauthorized, "the token is unknown").WithHint("use a token of this server; an admin makes one with: belfry token create")
	}
	if err := t.Refusal(now); err != nil {
		return access.Token{}, err
	}
	if now.Sub(t.LastUsedAt) >= usedEvery {
		s.note(ctx, "use token", `update belfry.tokens set last_used_at = $2 where id = $1`, t.ID, base.Micros(now.Truncate(usedEvery)))
	}
	return t, nil
}

// note records that something was used. A failed write is only logged: with a full disk, data can still be read.
func (s *Store) note(ctx context.Context, name, query string, args ...any) {
	if err := s.write(ctx, name, func(c *Change) error {
		_, err := c.Tx.Exec(ctx, query, args...)
		return err
	}); err != nil {
		s.Opt.Logger.Warn("last use of a token could not be recorded", "transition", name, "error", err)
	}
}
