package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
)

// fewestConns are what a store needs of a pool: one for a transition, and one
// for a caller in a transaction of the pool's meanwhile.
const fewestConns = 2

// New is Open on a pool of the caller's, which Close of the store leaves open.
//
// The pool needs at least two connections; four are better, and one more is
// taken out of it for as long as [base.Store.Run] hears announcements. The settings
// of the pool hold for the store too: BeforeConnect, tracers, TLS,
// the way in which queries are sent. MaxConns and SimpleProtocol of the options
// mean nothing here. Each transaction sets what it needs for itself alone, so a
// connection goes back as it came, and the pool may lead through a pooler in
// transaction mode. Then set Wakeups to "poll", and the pool's
// DefaultQueryExecMode to one that prepares nothing where the pooler cannot carry
// prepared statements.
//
// Several stores may share a pool. Those of one schema are nodes of one
// installation.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*store.Store, error) {
	if pool == nil {
		return nil, core.InvalidField("pool", "", "must not be nil", "make one with pgxpool.New")
	}
	if most := pool.Config().MaxConns; most < fewestConns {
		return nil, core.Errorf(core.Invalid, "pool must allow at least %d connections, and allows %d", fewestConns, most).
			WithHint("set MaxConns of the pool's configuration, or pool_max_conns in its address")
	}
	db, err := wrap(pool, o)
	if err != nil {
		return nil, err
	}
	db.foreign = true
	return db.storeOf(ctx, o)
}
