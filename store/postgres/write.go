package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/store/base"
)

// Write runs fn in one transaction under the database's clock.
func (db *DB) Write(ctx context.Context, fn func(tx base.Tx, at base.Moment) error) error {
	return db.WriteAhead(ctx, nil, fn)
}

// WriteAhead implements [base.Foreseer]. The begin, the query for the time and the queries ahead are sent together.
func (db *DB) WriteAhead(ctx context.Context, ahead []base.Statement, fn func(tx base.Tx, at base.Moment) error) error {
	return db.retry(ctx, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		conn, err := db.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		at, answers, err := db.begin(ctx, conn, ahead)
		if err != nil {
			db.rollback(conn)
			if errors.Is(err, errOtherHistory) {
				err = errors.Join(err, db.beginEpoch(ctx, conn, false))
			}
			return beginError{err}
		}
		tx := transition{handle: handle{conn.Conn(), db.schema, answers}, conn: conn, wakeups: db.wakeups}
		if err = fn(&tx, at); err == nil {
			err = tx.commit(ctx)
		}
		if err == nil {
			return nil
		}
		db.rollback(conn)
		return err
	})
}

// transition is a transaction that [DB.Write] began.
type transition struct {
	handle
	conn      *pgxpool.Conn
	wakeups   base.Wakeups
	soon      []base.Statement // sent with the next statement
	announces *notifier        // has to know the duration of the commit
}

func (t *transition) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if len(t.soon) == 0 {
		return t.handle.Exec(ctx, query, args...)
	}
	rows, err := t.send(ctx, query, args)
	if err != nil {
		return 0, err
	}
	rows.Close()
	return rows.CommandTag().RowsAffected(), rows.Err()
}

func (t *transition) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	if len(t.soon) == 0 {
		return t.handle.Query(ctx, query, args...)
	}
	if rows, ok := t.ahead.take(query, args); ok {
		return rows, nil
	}
	return t.send(ctx, query, args)
}

// ExecSoon implements [base.Closer].
func (t *transition) ExecSoon(query string, args ...any) {
	t.soon = append(t.soon, base.Statement{SQL: query, Args: args})
}

// Announce implements [base.Announcer], for topics that jobs wait for, while other nodes are not held up.
func (t *transition) Announce(topics []string) bool {
	n, ok := t.wakeups.(*notifier)
	if !ok || !slices.ContainsFunc(topics, hasty) || !n.mayGoAlong(time.Now()) {
		return false
	}
	t.ExecSoon(notifySQL, n.channel, payload(topics))
	t.announces = n
	return true
}

// commit also sends the statements that wait for the next one.
func (t *transition) commit(ctx context.Context) error {
	if t.announces != nil {
		begun := time.Now()
		defer func() { now := time.Now(); t.announces.wentAlong(now, now.Sub(begun)) }()
	}
	if err := t.maySend(ctx); err != nil {
		return err
	}
	ctx, cancel := toEnd(ctx)
	defer cancel()
	if len(t.soon) == 0 {
		return t.outcome(committed(t.conn.Exec(ctx, "commit")))
	}
	rows, err := t.send(ctx, "commit", nil)
	if err != nil {
		return t.outcome(err)
	}
	rows.Close()
	return t.outcome(committed(rows.CommandTag(), rows.Err()))
}

// send sends a query and the statements that wait for it in one round trip.
func (t *transition) send(ctx context.Context, query string, args []any) (*sentRows, error) {
	var batch pgx.Batch
	for _, s := range t.soon {
		batch.Queue(t.schema.sql(s.SQL), s.Args...)
	}
	batch.Queue(t.schema.sql(query), args...)
	res := t.conn.SendBatch(ctx, &batch)
	for _, s := range t.soon {
		if _, err := res.Exec(); err != nil {
			return nil, fmt.Errorf("%w\n%s", errors.Join(err, res.Close()), s.SQL)
		}
	}
	t.soon = nil
	rows, err := res.Query()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", errors.Join(err, res.Close()), query)
	}
	return &sentRows{Rows: rows, res: res, query: query}, nil
}

// sentRows is the answer to a query that was sent with others.
type sentRows struct {
	pgx.Rows
	res   pgx.BatchResults
	query string
	ended bool
	err   error
}

func (r *sentRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *sentRows) Err() error {
	r.Close()
	return r.err
}

func (r *sentRows) Close() {
	if r.ended {
		return
	}
	r.ended = true
	r.Rows.Close()
	if err := errors.Join(r.Rows.Err(), r.res.Close()); err != nil {
		r.err = fmt.Errorf("%w\n%s", err, r.query)
	}
}

func (db *DB) begin(ctx context.Context, conn *pgxpool.Conn, ahead []base.Statement) (at base.Moment, answers *foreseen, err error) {
	known := db.epochs.last() // read before the query: the answer to a later one may arrive sooner
	var batch pgx.Batch
	batch.Queue("begin")
	batch.Queue(db.beginSQL)
	for _, s := range ahead {
		batch.Queue(db.schema.sql(s.SQL), s.Args...)
	}
	res := conn.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, res.Close()) }()
	if _, err := res.Exec(); err != nil {
		return at, nil, fmt.Errorf("begin: %w", err)
	}
	var s sample
	var now int64
	var floor *int64
	var found place
	if err := res.QueryRow().Scan(&s.number, &now, &s.begun, &s.oldest, &floor, &found.epoch, &found.flushed, &at.Hooks, nil); err != nil {
		return at, nil, fmt.Errorf("read the clock: %w", err)
	}
	if err := serves(floor); err != nil {
		return at, nil, err
	}
	if err := db.epochs.arrive(known, found); err != nil {
		return at, nil, err
	}
	at.Number, at.Oldest = s.number, s.oldest
	at.Now, at.Stable = time.UnixMicro(now), db.horizon.stable(s, now)
	if db.clock != nil {
		at.Now = db.clock()
		at.Stable = at.Now // a test's clock moves between transactions
	}
	if len(ahead) == 0 {
		return at, nil, nil
	}
	answers = &foreseen{types: conn.Conn().TypeMap()}
	for _, s := range ahead {
		if err := answers.collect(s, res); err != nil {
			return at, nil, err
		}
	}
	return at, answers, nil
}

// frozenAfter is the longest time between two statements of a transaction that writes.
const frozenAfter = "'5s'"

// beginSQL draws the transaction's number, and then reads the clock and the values that [horizon] needs. It bounds the time
// between two statements. A node that freezes inside a transaction, stopped or cut off, holds row locks that others wait for.
// Without the bound it would keep the whole cluster from giving up its sessions.
//
// Reading the floor of the schema locks its table until the transaction ends, but only against raising the floor. So no
// incompatible schema change can begin before.
//
// The remaining settings suit tables that are empty one moment and full the next, whose statistics are always wrong.
// Transitions look up by key, and walk along an index that stops early, so:
//   - whole tables are not read;
//   - no bitmap of an index is made: a claim would read and sort all ready jobs of a priority, instead of walking to the
//     first few, because it believes that there are next to none;
//   - no plan is compiled: if a table has to be read all the same, the penalty makes a statement of a millisecond look
//     so expensive that compiling it took a hundred;
//   - the plan is made once, and not for each set of values: planning a claim took 0.8 ms, a third of its work, and
//     never chose anything else.
func beginSQL(place string) string {
	return `
	select pg_current_xact_id()::text::bigint,
		(extract(epoch from clock_timestamp()) * 1000000)::bigint,
		(extract(epoch from transaction_timestamp()) * 1000000)::bigint,
		pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
		(` + base.FloorSQL + `),
		` + place + `,
		(` + hooksSQL + `),
		concat(
			set_config('idle_in_transaction_session_timeout', ` + frozenAfter + `, true),
			set_config('enable_seqscan', 'off', true),
			set_config('enable_bitmapscan', 'off', true),
			set_config('jit', 'off', true),
			set_config('plan_cache_mode', 'force_generic_plan', true))`
}

// rollback ends a transaction whose context may be over. If even that fails, the connection is closed, and the server rolls
// back.
func (db *DB) rollback(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if conn.Conn().IsClosed() {
		return
	}
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}
