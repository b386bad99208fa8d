package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// maxGroup bounds the transitions in one commit. A group grows only while the previous one is being flushed. An idle database
// commits each transition at once, and a busy one pays one flush for many.
const maxGroup = 256

// request is a transition that waits for the writer.
type request struct {
	ctx  context.Context
	fn   func(tx base.Tx, at base.Moment) error
	err  error
	done chan struct{}
}

var errClosed = core.Errorf(core.Unavailable, "the store is closed")

// Write passes fn to the writer and waits for its commit.
func (db *DB) Write(ctx context.Context, fn func(tx base.Tx, at base.Moment) error) error {
	r := &request{ctx: ctx, fn: fn, done: make(chan struct{})}
	select {
	case <-db.closing:
		return errClosed
	default:
	}
	if err := db.damaged(); err != nil {
		return err
	}
	select {
	case db.queue <- r:
	case <-db.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.done:
		return db.translate(r.err)
	case <-db.done:
		// The writer answers every request that it took before it ends. A request that it never took was never run.
		select {
		case <-r.done:
			return db.translate(r.err)
		default:
			return errClosed
		}
	}
}

// write is the goroutine of the writer. It ends when the store closes and no request waits.
func (db *DB) write() {
	defer close(db.done)
	w := &writer{db: db, statements: statements{names: db.names}}
	defer w.forget()
	for {
		select {
		case r := <-db.queue:
			w.group(r)
		case <-db.closing:
			for {
				select {
				case r := <-db.queue:
					w.group(r)
				default:
					return
				}
			}
		}
	}
}

// writer holds the writing connection and its prepared statements.
type writer struct {
	db *DB
	statements
	tables versions
	lent   []int64 // batches of the transition
	wrote  bool    // the transition has written
	fault  bool    // one of its statements has failed
	woken  int     // requests that the group has woken
}

// connect takes the connection, unless the writer has it.
func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take the writing connection: %w", err)
	}
	if _, err := conn.ExecContext(ctx, createBatch); err != nil && !strings.Contains(err.Error(), "already exists") {
		discard(conn)
		return fmt.Errorf("make the table of batches: %w", err)
	}
	w.take(conn)
	return nil
}

// forget discards the connection, so that the next group gets a new one.
func (w *writer) forget() {
	w.discard()
	w.tables.file = 0
}

// prepared keeps statements, because parsing is the more expensive half of a small SQLite write. It also records what the
// statement may write.
func (w *writer) prepared(ctx context.Context, query string) (statement, error) {
	stmt, err := w.statements.prepared(ctx, query)
	w.tables.touch(stmt.written)
	return stmt, err
}

// Exec runs a statement of a transition. It ignores the caller's context: an interrupted write makes SQLite roll back the whole
// transaction, with all its transitions.
func (w *writer) Exec(_ context.Context, query string, args ...any) (int64, error) {
	w.wrote = true
	ctx := context.Background()
	s, err := w.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	if args, err = w.lend(args); err != nil {
		return 0, err
	}
	res, err := s.ExecContext(ctx, args...)
	if err != nil {
		w.fault = true
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return res.RowsAffected()
}

// Query is Exec for statements with an answer.
func (w *writer) Query(_ context.Context, query string, args ...any) (base.Rows, error) {
	w.wrote = w.wrote || !reads(query)
	ctx := context.Background()
	s, err := w.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if args, err = w.lend(args); err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		w.fault = true
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return result{rows, &w.fault}, nil
}

// reads reports, by its first word, that a query changes nothing.
func reads(query string) bool { return strings.HasPrefix(strings.TrimLeft(query, "\n\t "), "select ") }

// group runs first and the other waiting transitions in one transaction, such that a failed one does not fail the others.
func (w *writer) group(first *request) {
	group := append(make([]*request, 0, 16), first)
	for len(group) < w.db.maxGroup {
		select {
		case r := <-w.db.queue:
			group = append(group, r)
			continue
		default:
		}
		break
	}
	group, err := w.commit(group)
	if err != nil {
		w.alone(group, err)
	}
	for _, r := range group {
		close(r.done)
	}
}

// alone repeats the transitions of a failed group one by one. Some faults, such as a full disk, make SQLite roll back a whole
// transaction. Transitions without a fault of their own deserve a second try.
func (w *writer) alone(group []*request, err error) {
	if len(group) == 1 {
		group[0].err = errors.Join(group[0].err, err)
		return
	}
	for _, r := range group {
		r.err = nil
		if err := w.transact([]*request{r}, nil); err != nil {
			r.err = errors.Join(r.err, err)
		}
	}
}

// commit runs a group, together with the requests that it wakes. So a claim that waited for a job that is just being enqueued
// shares the disk flush, and the job starts after one flush instead of two. It returns all requests that took part.
//
// A transition that has written hardly ever fails. So all are first run without savepoints. If one fails, they are begun again,
// each in its own savepoint, which costs two statements and a copy of each written page.
func (w *writer) commit(group []*request) ([]*request, error) {
	w.woken = 0
	err := w.transact(group, func(run func(*request) error) error {
		if w.woken == 0 || len(group) >= w.db.maxGroup {
			return nil
		}
		// The loop polls and does not sleep: a wake-up takes longer than all the rest.
		for left, begun := w.woken, time.Now(); left > 0 && time.Since(begun) < linger; {
			select {
			case r := <-w.db.queue:
				group = append(group, r)
				left--
				if err := run(r); err != nil {
					return err
				}
			default:
				runtime.Gosched()
			}
		}
		return nil
	})
	if errors.Is(err, errNoWayBack) {
		err = w.transact(group, nil)
	}
	return group, err
}

// errNoWayBack is the error for one of several transitions that has failed after a write.
var errNoWayBack = errors.New("a transition has failed without a savepoint")

// linger is the time for which a commit waits for the requests that it woke. A goroutine takes that long to wake up on a busy
// machine, and it is a fraction of a disk flush.
const linger = 200 * time.Microsecond

// transact runs a group in a transaction. With more, which may run further requests, it uses no savepoints. Otherwise each
// request gets a savepoint, unless it is alone.
func (w *writer) transact(group []*request, more func(run func(*request) error) error) (err error) {
	for begun := false; !begun; {
		kept := w.conn != nil
		if err := w.connect(context.Background()); err != nil {
			return err
		}
		if err := w.begin(); err != nil && (!kept || !isWrong(err)) {
			return err
		} else if err == nil {
			begun = true
		}
	}
	defer func() {
		if err == nil {
			return
		}
		_ = w.rollBack("rollback") // SQLite may have done so itself
		if !errors.Is(err, errNoWayBack) {
			w.forget()
		}
	}()
	now := w.db.clock()
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err != nil {
			continue
		}
		err := w.one(r, now, more == nil && len(group) > 1)
		if err == nil && more != nil && (len(group) > 1 || r.err == nil) {
			err = w.stuck(r)
		}
		if err != nil {
			return err
		}
	}
	if len(group) == 1 && group[0].err != nil {
		return w.rollBack("rollback")
	}
	if more != nil {
		if err := more(func(r *request) error {
			if err := w.one(r, now, false); err != nil {
				return err
			}
			return w.stuck(r)
		}); err != nil {
			return err
		}
	}
	if err := w.do("commit"); err != nil {
		return ofCommit(err)
	}
	w.tables.file, _ = fileVersion(w.conn) // an unknown version makes the next transaction assume a foreign write
	return nil
}

// stuck reports that a transition without a savepoint has failed and may have left writes. After a failed statement that is
// unknown: a full disk makes SQLite roll back the whole transaction, and later statements would run in none.
func (w *writer) stuck(r *request) error {
	if w.fault || r.err != nil && w.wrote {
		return errNoWayBack
	}
	return nil
}

// do runs a statement that controls a transaction.
func (w *writer) do(query string) error {
	s, err := w.prepared(context.Background(), query)
	if err == nil {
		_, err = s.ExecContext(context.Background())
	}
	return err
}

// begin waits, through the busy handler, for the end of a user's own transaction on the file.
func (w *writer) begin() error {
	if err := w.do("begin immediate"); err != nil {
		w.forget()
		return fmt.Errorf("begin: %w", err)
	}
	version, err := fileVersion(w.conn)
	if err != nil || version != w.tables.file { // another process has written
		w.tables.all++
	}
	w.tables.file = version
	return nil
}

// rollBack rolls back to the begin or the savepoint.
func (w *writer) rollBack(query string) error {
	w.tables.all++
	return w.do(query)
}

// one runs a transition. The transition's own error goes to its caller. The returned error is one that ended the transaction
// for all.
func (w *writer) one(r *request, now time.Time, saved bool) error {
	defer w.takeBack()
	w.wrote, w.fault = false, false
	if !saved {
		r.err = w.guarded(r.fn, now)
		return nil
	}
	if err := w.do("savepoint one"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	if r.err = w.guarded(r.fn, now); r.err != nil {
		if err := w.rollBack("rollback to one"); err != nil {
			return fmt.Errorf("roll back to savepoint: %w", err)
		}
	}
	return w.do("release one")
}

// lend makes batches readable until the transition has ended, and checks all texts.
func (w *writer) lend(args []any) ([]any, error) {
	if err := checkTexts(args); err != nil {
		return nil, err
	}
	own := false
	for i, a := range args {
		b, is := a.(batchArg)
		if !is {
			continue
		}
		columns := b.batch.Columns()
		if err := checkTexts(columns); err != nil {
			return nil, err
		}
		if !own {
			args, own = slices.Clone(args), true
		}
		n := lend(columns)
		w.lent = append(w.lent, n)
		args[i] = n
	}
	return args, nil
}

func (w *writer) takeBack() {
	for _, n := range w.lent {
		batches.Delete(n)
	}
	w.lent = w.lent[:0]
}

// guarded turns a panic of a transition into its error, because all transitions share the goroutine.
func (w *writer) guarded(fn func(base.Tx, base.Moment) error, now time.Time) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("transition panicked: %v\n%s", p, debug.Stack())
		}
	}()
	// There is one writer, so all earlier transitions have ended.
	return fn(w, base.Moment{Now: now, Stable: now, Woke: func(n int) { w.woken += n }, Version: w.tables.version})
}
