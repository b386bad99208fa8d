package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// looks is how often two connections are compared. A pooler that is busy gives a client another connection each time,
// and one that is idle gives the same one to both.
const looks = 5

// sharesConnections reports that a pooler stands in between which gives each transaction another connection of the
// server, such as PgBouncer in transaction mode. Then nothing that a session remembers is there for its next
// transaction: statements that it prepared, and what it listens to.
//
// A pooler names processes of its own. One that keeps a connection for a client as long as it stays is as good as none.
// A server that cannot be reached is not asked: that comes up again.
func sharesConnections(ctx context.Context, cfg *pgx.ConnConfig) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cfg = cfg.Copy()
	cfg.DefaultQueryExecMode, cfg.Tracer = pgx.QueryExecModeSimpleProtocol, nil
	ask := func(conn *pgx.Conn) (pid uint32, err error) {
		return pid, conn.QueryRow(ctx, `select pg_backend_pid()`).Scan(&pid)
	}
	one, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false
	}
	defer one.Close(ctx) //nolint:errcheck // it was for one question
	first, err := ask(one)
	if err != nil || first == one.PgConn().PID() {
		return false
	}
	two, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false
	}
	defer two.Close(ctx) //nolint:errcheck // it was for some questions
	for range looks {
		b, errB := ask(two)
		a, errA := ask(one)
		if errors.Join(errA, errB) != nil {
			return false
		}
		if a != first || a == b {
			return true
		}
	}
	return false
}

// behindPooler leaves out what such a pooler cannot carry.
func (o *Options) behindPooler(cfg *pgxpool.Config) {
	if cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}
	if o.Wakeups == "" || o.Wakeups == "notify" {
		o.Wakeups = "poll"
		o.Logger.Warn("a pooler in transaction mode stands before the database, so nodes hear nothing of each other and look once a second",
			"hint", "set wakeups: poll, or give the node an address without the pooler")
	}
}

// shortTimeout is a statement_timeout that the removal of history, or a count on a busy server, may take.
const shortTimeout = 30 * time.Second

// warnOfTimeout looks for a limit that the role or the database sets. It is left as it is: who set it may mean it.
// Migrations go on without one.
func (db *DB) warnOfTimeout(ctx context.Context) error {
	var millis int64
	if err := db.pool.QueryRow(ctx, `select setting::bigint from pg_settings where name = 'statement_timeout'`).Scan(&millis); err != nil {
		return err
	}
	if limit := time.Duration(millis) * time.Millisecond; limit > 0 && limit < shortTimeout {
		db.log.Warn("the database cancels statements of this role early: what takes longer fails", "statement_timeout", limit, "want", shortTimeout)
	}
	return nil
}

// roomWithin is how long a transaction waits for a connection where the server, or the role, has fewer than the pool
// may ask for. Transactions under way give theirs back meanwhile.
const roomWithin = 5 * time.Second

// noConnection reports that the server, or the role, has no connection left.
func noConnection(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "53300"
}
