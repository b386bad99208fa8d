package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// looks is the number of comparisons of two connections. A busy pooler gives a client another connection each time, and an idle
// one gives the same connection to both.
const looks = 5

// sharesConnections reports that a pooler in between gives each transaction another connection of the server, such as PgBouncer
// in transaction mode. Then the state of a session is missing in its next transaction: prepared statements and LISTEN.
//
// A pooler reports its own process ids. A pooler that keeps a connection for the stay of a client does no harm. An unreachable
// server is not asked: its error comes up again later.
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
	defer one.Close(ctx) //nolint:errcheck // the connection served one query
	first, err := ask(one)
	if err != nil || first == one.PgConn().PID() {
		return false
	}
	two, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false
	}
	defer two.Close(ctx) //nolint:errcheck // the connection served a few queries
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

// behindPooler turns off the features that such a pooler does not support.
func (o *Options) behindPooler(cfg *pgxpool.Config) {
	if cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}
	if o.Wakeups == "" || o.Wakeups == "notify" {
		o.Wakeups = "poll"
		o.Logger.Warn("database is behind a pooler in transaction mode, so nodes poll once a second instead of receiving wake-ups",
			"hint", "set wakeups: poll, or give the node an address without the pooler")
	}
}

// shortTimeout is a statement_timeout that a removal of history, or a count on a busy server, may exceed.
const shortTimeout = 30 * time.Second

// warnOfTimeout warns of a statement_timeout of the role or the database. The setting stays, because it may be intended.
// Migrations run without it.
func (db *DB) warnOfTimeout(ctx context.Context) error {
	var millis int64
	if err := db.pool.QueryRow(ctx, `select setting::bigint from pg_settings where name = 'statement_timeout'`).Scan(&millis); err != nil {
		return err
	}
	if limit := time.Duration(millis) * time.Millisecond; limit > 0 && limit < shortTimeout {
		db.log.Warn("database cancels statements of this role early: longer statements fail", "statement_timeout", limit, "want", shortTimeout)
	}
	return nil
}

// roomWithin is how long a transaction waits for a connection if the server or the role allows fewer than the pool may open.
// Transactions in progress release theirs meanwhile.
const roomWithin = 5 * time.Second

// noConnection reports that the server, the role or PgBouncer has no connection left. PgBouncer gives no code of its own.
func noConnection(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "53300" || strings.HasPrefix(pg.Message, "no more connections allowed"))
}
