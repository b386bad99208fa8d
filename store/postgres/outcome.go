package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belfry-run/belfry/store/base"
)

// errRolledBack is a commit of a transaction in which something had failed.
var errRolledBack = errors.New("the commit was answered with a rollback")

// committed tells a commit from what became of a failed transaction.
func committed(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("%w: %q", errRolledBack, tag.String())
	}
	return err
}

// outcome is the error of a commit that was to be sent. Unless it is known that
// nothing was done, it says that something may have been.
func (t *transition) outcome(err error) error {
	if err == nil || notDone(err) || t.open() {
		return err
	}
	return base.OutcomeUnknown(err)
}

// notDone reports that the server answered and says that the transaction has
// failed. The end of a connection says nothing of a commit under
// way, except by the limits on a transaction that sits idle. Nor does
// [pgconn.SafeToRetry]: it holds of a connection that was cut under a statement.
func notDone(err error) bool {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, errRolledBack):
		return true
	case errors.As(err, &pg):
		return pg.SeverityUnlocalized == "ERROR" || pg.Code == "25P03" || pg.Code == "25P04"
	}
	return false
}

// open reports that the connection is still inside the transaction.
func (t *transition) open() bool {
	c := t.conn.Conn().PgConn()
	return !c.IsClosed() && !c.IsBusy() && c.TxStatus() != 'I'
}

// maySend reports why a commit cannot be sent at all.
func (t *transition) maySend(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.conn.Conn().IsClosed() {
		return fmt.Errorf("before the commit: %w", net.ErrClosed)
	}
	return nil
}

// commitGrace is how long a commit may take whose caller has left.
const commitGrace = 2 * time.Second

// toEnd is the context of a commit. A caller that leaves does not cut it off: that
// would spare nothing, and leave it open what was done. A deadline does.
func toEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
			return
		}
		time.AfterFunc(commitGrace, cancel)
	})
	return own, func() { stop(); cancel() }
}
