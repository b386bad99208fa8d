package store

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// joinPrefix tells people a join token from one that is good for the API.
const joinPrefix = secretPrefix + "join_"

const joinColumns = `id, name, namespace, labels, uses, used, expires_at, created_at, created_by, last_used_at, revoked_at`

func scanJoin(rows Rows) (t access.JoinToken, err error) {
	return t, rows.Scan(&t.ID, &t.Name, &t.Namespace, scanDoc(&t.Labels), &t.Uses, &t.Used, scanTime(&t.ExpiresAt), scanTime(&t.CreatedAt),
		&t.CreatedBy, scanTime(&t.LastUsedAt), scanTime(&t.RevokedAt))
}

// CreateJoinToken makes a join token and answers its secret, which cannot be had
// again.
func (s *Store) CreateJoinToken(ctx context.Context, t access.JoinToken) (out access.JoinToken, secret string, err error) {
	secret = newSecret(joinPrefix)
	err = s.write(ctx, "create join token", func(c *change) error {
		out = t.WithDefaults(c.now)
		if err := out.Validate(c.now); err != nil {
			return err
		}
		ids, err := s.sql.NextIDs(ctx, c.tx, "definition", 1)
		if err != nil {
			return err
		}
		out.ID, out.Used, out.CreatedAt, out.CreatedBy = ids[0], 0, c.now, access.ActorOf(ctx)
		if _, err := c.tx.Exec(ctx, `
			insert into belfry.join_tokens (id, name, namespace, labels, hash, uses, expires_at, created_at, created_by)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			out.ID, out.Name, out.Namespace, text(out.Labels), hashSecret(secret), out.Uses, micros(out.ExpiresAt), micros(c.now), out.CreatedBy); err != nil {
			return err
		}
		return c.audit("create", "join_token", ownedBy(out.Namespace), strconv.FormatInt(out.ID, 10), "", nil, out)
	})
	return out, secret, err
}

// JoinTokens lists all join tokens, those included that nobody can use any more,
// oldest first.
func (s *Store) JoinTokens(ctx context.Context) (all []access.JoinToken, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err = collect(ctx, tx, scanJoin, `select `+joinColumns+` from belfry.join_tokens order by id`)
		return err
	})
	if all == nil {
		all = []access.JoinToken{}
	}
	return all, err
}

// RevokeJoinToken lets nobody join with it any more. The tokens that machines
// got by it stay good. Revoking again changes nothing.
func (s *Store) RevokeJoinToken(ctx context.Context, id int64) error {
	return s.write(ctx, "revoke join token", func(c *change) error {
		t, found, err := first(ctx, c.tx, scanJoin, `select `+joinColumns+` from belfry.join_tokens where id = $1`+s.sql.ForUpdate("join_tokens"), id)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.NotFound, "no join token %d", id).WithHint("see: belfry token join list")
		}
		if !t.RevokedAt.IsZero() {
			return nil
		}
		if _, err := c.tx.Exec(ctx, `update belfry.join_tokens set revoked_at = $2 where id = $1`, id, micros(c.now)); err != nil {
			return err
		}
		return c.audit("revoke", "join_token", ownedBy(t.Namespace), strconv.FormatInt(id, 10), "", t, nil)
	})
}

// Join makes a token for the worker of a machine, for whoever has the secret of
// a join token. It counts as a use in the same transaction.
func (s *Store) Join(ctx context.Context, secret, machine string) (made access.Token, own string, err error) {
	own = newSecret(secretPrefix)
	err = s.write(ctx, "join", func(c *change) error {
		t, found, err := first(ctx, c.tx, scanJoin, `
			select `+joinColumns+` from belfry.join_tokens where hash = $1`+s.sql.ForUpdate("join_tokens"), hashSecret(secret))
		switch {
		case err != nil:
			return err
		case !found:
			return core.Errorf(core.Unauthorized, "the join token is unknown").WithHint("make one with: belfry token join create")
		}
		if err := t.Refusal(c.now); err != nil {
			return err
		}
		if _, err := c.tx.Exec(ctx, `update belfry.join_tokens set used = used + 1, last_used_at = $2 where id = $1`, t.ID, micros(c.now)); err != nil {
			return err
		}
		by := *c
		by.ctx = access.WithActor(ctx, "join:"+t.Name)
		made, err = by.insertToken(t.For(machine), own)
		return err
	})
	return made, own, err
}
