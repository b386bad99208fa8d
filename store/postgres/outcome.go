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

// errRolledBack is the error for a commit of a transaction in which a statement had failed.
var errRolledBack = errors.New("the commit was answered with a rollback")

// committed distinguishes a commit from the rollback of a failed transaction.
func committed(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("%w: %q", errRolledBack, tag.String())
	}
	return err
}

// outcome returns the error of a commit. Unless it is known that nothing was done, the error says that the commit may have
// happened.
func (t *transition) outcome(err error) error {
	if err == nil || notDone(err) || t.open() {
		return err
	}
	return base.OutcomeUnknown(err)
}

// notDone reports that the server has answered that the transaction failed. A broken connection proves nothing about a commit
// in progress, except after the limits on an idle transaction. [pgconn.SafeToRetry] does not prove it either: it also holds for
// a connection that was cut during a statement.
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

// maySend returns the reason why a commit cannot be sent at all.
func (t *transition) maySend(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.conn.Conn().IsClosed() {
		return fmt.Errorf("before the commit: %w", net.ErrClosed)
	}
	return nil
}

// commitGrace is the time for a commit whose caller has left.
const commitGrace = 2 * time.Second

// toEnd returns the context of a commit. A caller that leaves does not cancel the commit: that would save nothing, and leave
// the outcome unknown. A deadline does cancel it.
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
