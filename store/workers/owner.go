package workers

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/tokens"
)

// SessionOwner returns the ID of the token that opened a session, whether the session has ended or not. It is 0 for a session
// of a node itself. The owner of a session never changes.
func (s *Store) SessionOwner(ctx context.Context, session string) (token int64, err error) {
	var found bool
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		token, found, err = base.First(ctx, tx, base.ScanInt, `select token from belfry.sessions where id = $1`, session)
		return err
	})
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "session %q not found", session)
	}
	return token, err
}

// liveToken rejects a session for a revoked or expired token. Nodes may accept a token for some seconds longer. The lock
// prevents a revocation between this look and the end of the transaction, which would leave a session without an end.
func (c *Change) liveToken(id int64) error {
	if id == 0 {
		return nil
	}
	t, found, err := base.First(c.Ctx, c.Tx, tokens.ScanToken, `select `+tokens.TokenColumns+` from belfry.tokens where id = $1`+c.SQL.ForKeyShare("tokens"), id)
	if err != nil {
		return err
	}
	if !found {
		return core.Errorf(core.Unauthorized, "the token is unknown")
	}
	return t.Refusal(c.Now)
}

// checkSessionLimit rejects another session of a token that has reached its limit of sessions.
func (c *Change) checkSessionLimit(token int64) error {
	if token == 0 {
		return nil
	}
	living, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*) from (select 1 from belfry.sessions where ended_at = 0 and token > 0 and token = $1 limit $2) living`, token, job.MaxSessions)
	if err == nil && living >= job.MaxSessions {
		err = core.Errorf(core.Unavailable, "%d sessions are open with this token, which is its limit", living).
			WithHint("close one, or wait until those that are not renewed have ended; give each machine a token of its own")
	}
	return err
}

// endSessionsOf ends the living sessions that a token opened, and settles the jobs that they hold. [Store.ReleaseLost] settles
// the jobs beyond a bounded number.
func (c *Change) endSessionsOf(token int64) error {
	all, err := base.Collect(c.Ctx, c.Tx, scanEnded, `
		update belfry.sessions
		set ended_at = $2, lost = $3
		where id in (select id from belfry.sessions where token = $1 and ended_at = 0`+c.SQL.ForUpdate("sessions")+`)
		returning id, renewed_at, lost`, token, base.Micros(c.Now), lostByToken)
	if err != nil {
		return err
	}
	for _, x := range all {
		if _, _, err := c.settleHeld(x); err != nil {
			return err
		}
		c.Wake(base.TopicSession(x.session))
	}
	return nil
}

// RevokeToken revokes a token and ends the sessions that it opened. The jobs that they hold are settled as lost. Revoking it
// again changes nothing.
func (s *Store) RevokeToken(ctx context.Context, id int64) error {
	return s.write(ctx, "revoke token", func(c *Change) error {
		t, found, err := base.First(ctx, c.Tx, tokens.ScanToken, `select `+tokens.TokenColumns+` from belfry.tokens where id = $1`+s.SQL.ForUpdate("tokens"), id)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.NotFound, "no token %d", id).WithHint("see: belfry token list")
		}
		if !t.RevokedAt.IsZero() {
			return nil
		}
		if _, err := c.Tx.Exec(ctx, `update belfry.tokens set revoked_at = $2 where id = $1`, id, base.Micros(c.Now)); err != nil {
			return err
		}
		if err := c.endSessionsOf(id); err != nil {
			return err
		}
		return c.Audit("revoke", "token", base.OwnedBy(t.Namespace), strconv.FormatInt(id, 10), "", t, nil)
	})
}
