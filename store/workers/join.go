package workers

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/tokens"
)

// joinPrefix distinguishes a join token from an API token.
const joinPrefix = base.SecretPrefix + "join_"

const joinColumns = `id, name, namespace, labels, uses, used, expires_at, created_at, created_by, last_used_at, revoked_at`

func scanJoin(rows base.Rows) (t access.JoinToken, err error) {
	return t, rows.Scan(&t.ID, &t.Name, &t.Namespace, base.ScanDoc(&t.Labels), &t.Uses, &t.Used, base.ScanTime(&t.ExpiresAt), base.ScanTime(&t.CreatedAt),
		&t.CreatedBy, base.ScanTime(&t.LastUsedAt), base.ScanTime(&t.RevokedAt))
}

// CreateJoinToken creates a join token and returns its secret, which cannot be read again. If the same actor repeats the call,
// because the answer was lost, the error names the token.
func (s *Store) CreateJoinToken(ctx context.Context, t access.JoinToken) (out access.JoinToken, secret string, err error) {
	secret = base.NewSecret(joinPrefix)
	err = s.write(ctx, "create join token", func(c *Change) error {
		out = t.WithDefaults(c.Now)
		if err := out.Validate(c.Now); err != nil {
			return err
		}
		if err := tokens.Alone(c.Change); err != nil {
			return err
		}
		had, err := base.Collect(ctx, c.Tx, scanJoin, `
			select `+joinColumns+` from belfry.join_tokens
			where name = $1 and namespace = $2 and created_by = $3 and revoked_at = 0
			order by id desc`, out.Name, out.Namespace, access.ActorOf(ctx))
		if err != nil {
			return err
		}
		for _, h := range had {
			if h.Refusal(c.Now) == nil {
				return tokens.Exists("join token", "belfry token join revoke", h.Name, h.ID, h.CreatedAt)
			}
		}
		ids, err := s.SQL.NextIDs(ctx, c.Tx, "definition", 1)
		if err != nil {
			return err
		}
		out.ID, out.Used, out.CreatedAt, out.CreatedBy = ids[0], 0, c.Now, access.ActorOf(ctx)
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.join_tokens (id, name, namespace, labels, hash, uses, expires_at, created_at, created_by)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			out.ID, out.Name, out.Namespace, base.Text(out.Labels), base.HashSecret(secret), out.Uses, base.Micros(out.ExpiresAt), base.Micros(c.Now), out.CreatedBy); err != nil {
			return err
		}
		return c.Audit("create", "join_token", base.OwnedBy(out.Namespace), strconv.FormatInt(out.ID, 10), "", nil, out)
	})
	return out, secret, err
}

// JoinTokens lists all join tokens, also used-up and expired ones, oldest first.
func (s *Store) JoinTokens(ctx context.Context) (all []access.JoinToken, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err = base.Collect(ctx, tx, scanJoin, `select `+joinColumns+` from belfry.join_tokens order by id`)
		return err
	})
	if all == nil {
		all = []access.JoinToken{}
	}
	return all, err
}

// RevokeJoinToken revokes a join token. The tokens that machines obtained with it stay valid. Revoking it again changes
// nothing.
func (s *Store) RevokeJoinToken(ctx context.Context, id int64) error {
	return s.write(ctx, "revoke join token", func(c *Change) error {
		t, found, err := base.First(ctx, c.Tx, scanJoin, `select `+joinColumns+` from belfry.join_tokens where id = $1`+s.SQL.ForUpdate("join_tokens"), id)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.NotFound, "no join token %d", id).WithHint("see: belfry token join list")
		}
		if !t.RevokedAt.IsZero() {
			return nil
		}
		if _, err := c.Tx.Exec(ctx, `update belfry.join_tokens set revoked_at = $2 where id = $1`, id, base.Micros(c.Now)); err != nil {
			return err
		}
		return c.Audit("revoke", "join_token", base.OwnedBy(t.Namespace), strconv.FormatInt(id, 10), "", t, nil)
	})
}

// Join creates a token for the worker of a machine with the secret of a join token. The use is counted in the same transaction.
func (s *Store) Join(ctx context.Context, secret, machine string) (made access.Token, own string, err error) {
	// The secret is looked up by a reader first: guessed secrets must not hold up writers.
	if err = s.DB().Read(ctx, func(tx base.Tx) error {
		_, err := joinOf(ctx, tx, secret, "")
		return err
	}); err != nil {
		return made, "", err
	}
	own = base.NewSecret(base.SecretPrefix)
	err = s.write(ctx, "join", func(c *Change) error {
		t, err := joinOf(ctx, c.Tx, secret, s.SQL.ForUpdate("join_tokens"))
		if err != nil {
			return err
		}
		if err := t.Refusal(c.Now); err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `update belfry.join_tokens set used = used + 1, last_used_at = $2 where id = $1`, t.ID, base.Micros(c.Now)); err != nil {
			return err
		}
		by := *c
		by.Ctx = access.WithActor(ctx, "join:"+t.Name)
		made, err = by.tokens().InsertToken(t.For(machine), own)
		return err
	})
	return made, own, err
}

// joinOf returns the join token of a secret.
func joinOf(ctx context.Context, tx base.Tx, secret, lock string) (access.JoinToken, error) {
	t, found, err := base.First(ctx, tx, scanJoin, `
		select `+joinColumns+` from belfry.join_tokens where hash = $1`+lock, base.HashSecret(secret))
	if err == nil && !found {
		err = core.Errorf(core.Unauthorized, "the join token is unknown").WithHint("make one with: belfry token join create")
	}
	return t, err
}
