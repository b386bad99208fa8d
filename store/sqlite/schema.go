package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

//go:embed migrations/*.sql
var files embed.FS

// schemaKnown is the number of the last migration.
var schemaKnown = base.LastMigration(migrations())

func migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// prefix is the prefix of the table names in the file. SQL texts contain [base.Home] in its place.
type prefix string

var fitPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func prefixOf(name string) (prefix, error) {
	p := cmp.Or(name, "belfry_")
	if !fitPrefix.MatchString(p) || strings.HasPrefix(p, "sqlite_") {
		return "", core.InvalidField("prefix", name, "must be up to 40 lower-case letters, digits and _, must not begin with a digit or sqlite_", "belfry_")
	}
	return prefix(p), nil
}

// sql inserts the names of this file into a SQL text.
func (p prefix) sql(query string) string { return strings.ReplaceAll(query, base.Home, string(p)) }

func (p prefix) migrate(ctx context.Context, db *sql.DB, dry bool) (from, to int64, err error) {
	m := base.Migrations{
		Files: migrations(), Table: string(p) + "migrations", Name: p.sql,
		There: func(table string) string { // no other process has the file
			return "select exists (select 1 from sqlite_schema where name = '" + string(p) + table + "')"
		},
	}
	return base.Migrate(ctx, db, m, dry)
}
