package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// LongOpen is how long claims wait for a transaction that is open.
const LongOpen = time.Duration(longOpen) * time.Microsecond

// SkewOf is what a node makes of the database's clock.
var SkewOf = skewOf

// ConfigureOpened gives a pool what Open gives its own.
func ConfigureOpened(cfg *pgxpool.Config) {
	cfg.MaxConns = 4
	cfg.AfterConnect = registerArrays
}

// OpenTraced is Open with a tracer on its connections.
func OpenTraced(ctx context.Context, dsn string, o Options, tracer pgx.QueryTracer) (*store.Store, error) {
	o.configure = func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = tracer }
	return Open(ctx, dsn, o)
}

// OpenDialed is Open over connections that dial makes.
func OpenDialed(ctx context.Context, dsn string, o Options, dial pgconn.DialFunc) (*store.Store, error) {
	o.configure = func(cfg *pgxpool.Config) { cfg.ConnConfig.DialFunc = dial }
	return Open(ctx, dsn, o)
}

// ConfigureForgetful makes a pool that, like a pooler in transaction mode, wipes all that a session remembers whenever a
// connection is given back, which is after each transaction.
func ConfigureForgetful(cfg *pgxpool.Config) {
	ConfigureOpened(cfg)
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	cfg.AfterRelease = func(conn *pgx.Conn) bool {
		_, err := conn.Exec(context.Background(), "discard all")
		return err == nil
	}
}

// AnnouncesNoSooner sets when a transition may announce with its commit again.
func AnnouncesNoSooner(db base.DB, at time.Time) {
	n := db.(*DB).wakeups.(*notifier)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.along = at
}

// AnnouncesFrom is when it may.
func AnnouncesFrom(db base.DB) time.Time {
	n := db.(*DB).wakeups.(*notifier)
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.along
}
