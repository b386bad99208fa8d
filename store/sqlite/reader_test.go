package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// queues counts the rows of a table, within a read.
func queues(ctx context.Context, tx base.Tx) (n int64, err error) {
	rows, err := tx.Query(ctx, `select count(*) from belfry.queues`)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		err = errors.Join(err, rows.Scan(&n))
	}
	return n, errors.Join(err, rows.Err())
}

// Whatever becomes of a read, those after it find a sound connection, and no
// snapshot but their own.
func TestAReadLeavesNothingToTheNext(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(ctx context.Context, db base.DB) error{
		"that fails": func(ctx context.Context, db base.DB) error {
			return db.Read(ctx, func(tx base.Tx) error { _, err := tx.Query(ctx, `select nothing`); return err })
		},
		"that writes": func(ctx context.Context, db base.DB) error {
			return db.Read(ctx, func(tx base.Tx) error { _, err := tx.Exec(ctx, `delete from belfry.queues`); return err })
		},
		"whose context ends": func(ctx context.Context, db base.DB) error {
			ctx, cancel := context.WithCancel(ctx)
			return db.Read(ctx, func(tx base.Tx) error {
				_, _ = queues(ctx, tx)
				cancel()
				_, err := queues(ctx, tx)
				return err
			})
		},
		"whose context has ended": func(ctx context.Context, db base.DB) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return db.Read(ctx, func(tx base.Tx) error { _, err := queues(ctx, tx); return err })
		},
		"that leaves a query open": func(ctx context.Context, db base.DB) error {
			return db.Read(ctx, func(tx base.Tx) error {
				rows, err := tx.Query(ctx, `select name from belfry.queues`)
				if err == nil && !rows.Next() {
					err = errors.New("no queue is there")
				}
				rows.Close()
				return errors.Join(err, errors.New("it had enough"))
			})
		},
		"that panics": func(ctx context.Context, db base.DB) (err error) {
			defer func() { err = fmt.Errorf("%v", recover()) }()
			return db.Read(ctx, func(base.Tx) error { panic("in a read") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			var there int64
			if err := st.DB().Read(t.Context(), func(tx base.Tx) (err error) { there, err = queues(t.Context(), tx); return err }); err != nil {
				t.Fatal(err)
			}
			for i := range int64(12) { // more than connections
				if err := read(t.Context(), st.DB()); err == nil {
					t.Fatal("it went well")
				}
				if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
					_, err := tx.Exec(t.Context(), `
						insert into belfry.queues (name, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at)
						select name || $1, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at
						from belfry.queues where name = 'default'`, i)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if err := st.DB().Read(t.Context(), func(tx base.Tx) error {
					n, err := queues(t.Context(), tx)
					if n != there+i+1 {
						t.Errorf("%d queues are seen, want %d", n, there+i+1)
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Texts that differ each time do not gather, and reads beside each other are not
// mixed up.
func TestManyReadsOfManyTexts(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for who := range int64(8) {
		all.Go(func() {
			for i := range int64(300) {
				if err := st.DB().Read(t.Context(), func(tx base.Tx) error {
					for _, text := range []string{`select $1 + 0`, fmt.Sprintf(`select $1 + %d`, who*300+i)} {
						rows, err := tx.Query(t.Context(), text, who)
						if err != nil {
							return err
						}
						var n int64
						for rows.Next() {
							err = errors.Join(err, rows.Scan(&n))
						}
						rows.Close()
						if err := errors.Join(err, rows.Err()); err != nil {
							return err
						}
						if n != who && n != who+who*300+i {
							t.Errorf("%s of %d answers %d", text, who, n)
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := sqlite.KeptStatements(st.DB()); n > 4*400 {
		t.Errorf("%d statements are kept", n)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if err := st.DB().Read(t.Context(), func(base.Tx) error { return nil }); err == nil {
		t.Error("a closed store was read")
	}
}
