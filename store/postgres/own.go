package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
)

// fewestConns is the number of connections that a store needs from a pool. One is for a transition, and one for a caller in a
// transaction of the pool at the same time.
const fewestConns = 2

// New is Open on the caller's pool. Close of the store leaves the pool open.
//
// The pool needs at least two connections, and four are better. [base.Store.Run] takes one more out of it as long as it
// receives announcements. The settings of the pool apply to the store too: BeforeConnect, tracers, TLS, the query mode.
// MaxConns and SimpleProtocol of the options have no effect. Each transaction sets its options for itself alone, so a
// connection goes back unchanged. The pool may lead through a pooler in transaction mode. Then set Wakeups to "poll". If the
// pooler does not support prepared statements, also set the pool's DefaultQueryExecMode to a mode that prepares nothing.
//
// Several stores may share a pool. Stores with one schema are nodes of one installation.
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
