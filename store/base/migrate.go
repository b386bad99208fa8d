package base

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/schemas"
)

// Home is the prefix of every table, view, sequence and function in SQL texts, as in belfry.jobs. On PostgreSQL it is the name of
// the schema, replaced if the store has another one; on SQLite it is replaced by a prefix of the name, as in belfry_jobs. So a
// statement finds the tables of the store in every transaction, whatever its search path and the other tables of the database.
const Home = "belfry."

// Migrations are the files that make a schema, and the database-specific SQL to run them. The name of a file begins with the
// version that it makes, as in 00001_tables.sql.
//
// Migrations use no library: migration libraries add the drivers of every database to the module graph of every program that
// imports the store.
type Migrations struct {
	Files fs.FS
	// Table is the full name of the table of migrated versions.
	Table string
	// There returns a query whether a table of this schema exists, by its name in the files, with one row of one boolean.
	There func(table string) string
	// Lock is the first statement of a transaction that changes the schema. It makes other such transactions wait.
	Lock string
	// Name replaces [Home] in a text of SQL by the names of this schema.
	Name func(sql string) string
}

// Migrate migrates a schema to the newest version in m, and returns the old and the new version. Each file is a transaction of
// its own, so a failed migration keeps the changes of the files before it. A schema that is newer than the program is not
// changed, and is refused if the program is too old for it. With dry, nothing is changed.
func Migrate(ctx context.Context, db *sql.DB, m Migrations, dry bool) (from, to int64, err error) {
	to = LastMigration(m.Files)
	var there bool
	if err := db.QueryRowContext(ctx, m.There("migrations")).Scan(&there); err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	if there {
		if from, err = m.version(ctx, db); err != nil {
			return 0, 0, err
		}
		if err := schemas.Same(ctx, db, m.Table, m.Files, versionOf); err != nil {
			return from, to, err
		}
	}
	if from > to {
		return from, to, m.newer(ctx, db, from, to)
	}
	if dry {
		return from, to, nil
	}
	files, err := fs.Glob(m.Files, "*.sql")
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations: %w", err)
	}
	for _, file := range files { // they are sorted
		if versionOf(file) <= from {
			continue
		}
		if err := m.step(ctx, db, file); err != nil {
			return from, from, fmt.Errorf("migrate schema from version %d to %d: %s: %w", from, to, file, err)
		}
	}
	if from < to { // another build may have run a file that this process waited for
		err = schemas.Same(ctx, db, m.Table, m.Files, versionOf)
	}
	return from, to, err
}

// step runs a file, unless another process ran it while this one waited.
func (m Migrations) step(ctx context.Context, db *sql.DB, file string) error {
	text, err := fs.ReadFile(m.Files, file)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // of what is committed, or failed
	if _, err := tx.ExecContext(ctx, m.Lock); err != nil {
		return err
	}
	if err := schemas.Keep(ctx, tx, m.Table); err != nil {
		return err
	}
	now, err := m.version(ctx, tx)
	if err != nil || now >= versionOf(file) {
		return err
	}
	if now == 0 {
		if err := m.empty(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, m.Name(string(text))); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("insert into %s (version, at, digest) values (%d, %d, '%s')", m.Table, versionOf(file), time.Now().UnixMicro(), schemas.Digest(text))); err != nil {
		return err
	}
	return tx.Commit()
}

// empty returns an error if the schema has tables, though no version is recorded.
func (m Migrations) empty(ctx context.Context, tx *sql.Tx) error {
	var there bool
	if err := tx.QueryRowContext(ctx, m.There("jobs")).Scan(&there); err != nil || !there {
		return err
	}
	return core.Errorf(core.Conflict, "the database has tables of Belfry, but %s does not record their version", m.Table).
		WithHint("restore the whole database from a backup, or start with a new one")
}

func (m Migrations) version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int64, err error) {
	if err := q.QueryRowContext(ctx, "select coalesce(max(version), 0) from "+m.Table).Scan(&version); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}

// LastMigration returns the version of the last file in migrations. It panics without files, because they are built in.
func LastMigration(migrations fs.FS) int64 {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no migrations: ", err))
	}
	return versionOf(names[len(names)-1]) // they are sorted
}

// versionOf returns the version in the name of a file. It panics without one, because the files are built in.
func versionOf(file string) int64 {
	digits, _, _ := strings.Cut(file, "_")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("migration %s has no version: %v", file, err))
	}
	return n
}

// FloorSQL reads the schema floor: the oldest schema version that a program must know. A program that finds none is too old.
const FloorSQL = `select version from belfry.schema_floor`

func (m Migrations) newer(ctx context.Context, db *sql.DB, version, known int64) error {
	var floor int64
	if err := db.QueryRowContext(ctx, m.Name(FloorSQL)).Scan(&floor); err != nil {
		return fmt.Errorf("read the oldest schema version that may be used: %w", err)
	}
	if schema := (core.Schema{Version: version, Floor: floor, Known: known}); !schema.Serves() {
		return schema.Refuse(core.Conflict)
	}
	return nil
}
