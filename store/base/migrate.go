package base

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/belfry-run/belfry/core"
)

// Home is what every name of a table, view, sequence and function begins with
// in a text of SQL, as in belfry.jobs. On PostgreSQL it is the schema as it
// stands, unless the store has another one; on SQLite it is replaced by a
// prefix, as in belfry_jobs. So a statement finds the store's own tables in
// every transaction, whatever its search path and whatever else the database
// has.
const Home = "belfry."

// Migrations are the files that make a schema, and what they are run on.
type Migrations struct {
	Dialect goose.Dialect
	Files   fs.FS
	// Table keeps the version that the schema has, by its full name.
	Table string
	// Name gives a text of SQL the names of this schema, in place of [Home].
	Name func(sql string) string
}

// Migrate brings a schema to the newest version in m and reports where it came
// from and where it is. A schema that is newer than the program is left alone,
// and refused if the program is too old for it. With dry, nothing is changed.
func Migrate(ctx context.Context, db *sql.DB, m Migrations, dry bool, o ...goose.ProviderOption) (from, to int64, err error) {
	o = append(o, goose.WithTableName(m.Table), goose.WithDisableGlobalRegistry(true))
	p, err := goose.NewProvider(m.Dialect, db, named{m.Files, m.Name}, o...)
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations: %w", err)
	}
	from, to, err = p.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	if from > to {
		return from, to, m.newer(ctx, db, from, to)
	}
	if dry || from == to {
		return from, to, nil
	}
	if _, err := p.Up(ctx); err != nil {
		return from, from, fmt.Errorf("migrate schema from version %d to %d: %w", from, to, err)
	}
	return from, to, nil
}

// named are files whose texts get the names of a schema.
type named struct {
	fs.FS
	name func(sql string) string
}

func (n named) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	text, err := io.ReadAll(f)
	return namedFile{f, bytes.NewReader([]byte(n.name(string(text))))}, err
}

type namedFile struct {
	fs.File
	text io.Reader
}

func (f namedFile) Read(b []byte) (int, error) { return f.text.Read(b) }

// LastMigration is the number of the last file in migrations. It panics when
// there is none, because they are built in.
func LastMigration(migrations fs.FS) int64 {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no migrations: ", err))
	}
	n, err := goose.NumericComponent(names[len(names)-1]) // they are sorted
	if err != nil {
		panic(err)
	}
	return n
}

// FloorSQL reads the oldest schema version that a program must know. A program
// that finds none is too old.
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
