package store

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// SessionOwner answers the ID of the token that opened a worker's session,
// whether it has ended or not; 0 for a session of a node itself. The owner of
// a session never changes.
func (s *Store) SessionOwner(ctx context.Context, session string) (token int64, err error) {
	var found bool
	err = s.db.Read(ctx, func(tx Tx) error {
		token, found, err = first(ctx, tx, scanInt, `select token from belfry.sessions where id = $1`, session)
		return err
	})
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "session %q not found", session)
	}
	return token, err
}

// liveToken refuses a session to a token that was revoked or has expired. Nodes
// may believe a token for some seconds longer. The lock keeps a token from
// being revoked between this look and the end of the transaction, which would
// leave a session behind that nobody ends.
func (c *change) liveToken(id int64) error {
	if id == 0 {
		return nil
	}
	t, found, err := first(c.ctx, c.tx, scanToken, `select `+tokenColumns+` from belfry.tokens where id = $1`+c.sql.ForKeyShare("tokens"), id)
	if err != nil {
		return err
	}
	if !found {
		return core.Errorf(core.Unauthorized, "the token is unknown")
	}
	return t.Refusal(c.now)
}

// endSessionsOf ends the living sessions that a token opened, and settles what
// they hold. Beyond a bounded part of it, [Store.ReleaseLost] does the rest.
func (c *change) endSessionsOf(token int64) error {
	ended, err := collect(c.ctx, c.tx, scanString, `
		update belfry.sessions
		set ended_at = $2, lost = 1
		where id in (select id from belfry.sessions where token = $1 and ended_at = 0`+c.sql.ForUpdate("sessions")+`)
		returning id`, token, micros(c.now))
	if err != nil {
		return err
	}
	for _, session := range ended {
		if _, err := c.giveBack(session, job.OutcomeLost, "its worker was lost: the token of its session was revoked"); err != nil {
			return err
		}
		c.wake(topicSession(session))
	}
	return nil
}
