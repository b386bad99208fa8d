package tokens

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

const webSessionColumns = `hash, sealed, created_at, seen_at, expires_at`

func scanWebSession(rows base.Rows) (w access.WebSession, err error) {
	return w, rows.Scan(&w.Hash, &w.Sealed, base.ScanTime(&w.CreatedAt), base.ScanTime(&w.SeenAt), base.ScanTime(&w.ExpiresAt))
}

// OpenWebSession stores a new session with the given hash and sealed data. If there are too many, the sessions that would end
// first are deleted.
func (s *Store) OpenWebSession(ctx context.Context, w access.WebSession, l access.WebSessionLimits) (access.WebSession, error) {
	err := s.write(ctx, "open web session", func(c *Change) error {
		if err := w.Validate(); err != nil {
			return err
		}
		w.CreatedAt = c.Now
		w, _ = w.Seen(c.Now, l.WithDefaults())
		if _, err := c.Tx.Exec(ctx, `
			delete from belfry.web_sessions
			where expires_at <= (select expires_at from belfry.web_sessions order by expires_at desc limit 1 offset $1)`,
			access.MaxWebSessions-1); err != nil {
			return err
		}
		_, err := c.Tx.Exec(ctx, `insert into belfry.web_sessions (`+webSessionColumns+`) values ($1, $2, $3, $4, $5)`,
			w.Hash, w.Sealed, base.Micros(w.CreatedAt), base.Micros(w.SeenAt), base.Micros(w.ExpiresAt))
		if err != nil {
			return err
		}
		return c.Audit("sign in", "session", "", "", "", nil, nil)
	})
	return w, err
}

// WebSession returns the session of a hash and records its use. If there is none or it has ended, it returns a NotFound error.
func (s *Store) WebSession(ctx context.Context, hash string, l access.WebSessionLimits) (w access.WebSession, err error) {
	var found bool
	if err = s.DB().Read(ctx, func(tx base.Tx) error {
		w, found, err = base.First(ctx, tx, scanWebSession, `select `+webSessionColumns+` from belfry.web_sessions where hash = $1`, hash)
		return err
	}); err != nil {
		return access.WebSession{}, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return access.WebSession{}, err
	}
	if !found || !now.Before(w.ExpiresAt) {
		return access.WebSession{}, core.Errorf(core.NotFound, "the session has ended").WithHint("sign in again")
	}
	w, changed := w.Seen(now, l.WithDefaults())
	if changed {
		s.note(ctx, "see web session", `update belfry.web_sessions set seen_at = $2, expires_at = $3 where hash = $1`, hash, base.Micros(w.SeenAt), base.Micros(w.ExpiresAt))
	}
	return w, nil
}

// CloseWebSession deletes a session, if it exists.
func (s *Store) CloseWebSession(ctx context.Context, hash string) error {
	return s.write(ctx, "close web session", func(c *Change) error {
		n, err := c.Tx.Exec(ctx, `delete from belfry.web_sessions where hash = $1`, hash)
		if err != nil || n == 0 {
			return err
		}
		return c.Audit("sign out", "session", "", "", "", nil, nil)
	})
}
