package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/store/base"
)

// readers is the number of concurrent reads. Reads are short, and the cores of the machine are the limit.
const readers = 4

// reader runs reads in sequence on its own connection. It keeps prepared statements: parsing took a quarter of the CPU time of
// small reads. As in a transition, a query is not repeated before its answer has been read.
type reader struct {
	statements
	pool *sql.DB
}

func newReaders(pool *sql.DB, names prefix) chan *reader {
	pool.SetMaxOpenConns(readers)
	all := make(chan *reader, readers)
	for range readers {
		all <- &reader{statements: statements{names: names}, pool: pool}
	}
	return all
}

// Read runs fn on a snapshot.
func (db *DB) Read(ctx context.Context, fn func(tx base.Tx) error) error {
	select {
	case <-db.closing:
		return errClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := db.damaged(); err != nil {
		return err
	}
	select {
	case r := <-db.readers:
		defer func() { db.readers <- r }()
		return db.translate(r.read(ctx, fn))
	case <-db.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask reads one row with one column.
func (db *DB) ask(ctx context.Context, query string, to any) error {
	return db.Read(ctx, func(tx base.Tx) error {
		rows, err := tx.Query(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			err = rows.Scan(to)
		}
		return errors.Join(err, rows.Err())
	})
}

func (r *reader) read(ctx context.Context, fn func(tx base.Tx) error) error {
	if err := r.begin(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("begin a read: %w", err)
	}
	defer r.end()
	err := fn(r)
	if left := ctx.Err(); left != nil && interrupted(err) {
		return left
	}
	return err
}

// begin takes a snapshot. The caller's context must not interrupt it: the driver would then report that nothing was done,
// although the transaction may have begun. If begin fails on a kept connection, this connection is discarded and a new one is
// tried.
func (r *reader) begin(ctx context.Context) error {
	for {
		kept := r.conn != nil
		if !kept {
			conn, err := r.pool.Conn(ctx)
			if err != nil {
				return err
			}
			r.take(conn)
		}
		err := r.do(ctx, "begin")
		if err == nil {
			return nil
		}
		r.discard()
		if !kept {
			return err
		}
	}
}

// end releases the snapshot. Nothing was written.
func (r *reader) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r.do(ctx, "rollback") != nil {
		r.discard()
	}
}

func (r *reader) do(ctx context.Context, query string) error {
	_, err := r.Exec(ctx, query)
	return err
}

func (r *reader) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := r.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	if err := checkTexts(args); err != nil {
		return 0, err
	}
	res, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return res.RowsAffected()
}

func (r *reader) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	s, err := r.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := checkTexts(args); err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return result{Rows: rows}, nil
}
