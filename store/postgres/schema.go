package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

//go:embed migrations/*.sql
var files embed.FS

// schema is the name of the schema with the tables. SQL texts contain the default one, see [base.Home].
type schema string

// homeSchema is the schema that the SQL texts contain.
const homeSchema schema = "belfry"

// fitSchema matches names that need no quotes. They leave room in the names of partitions, locks and channels, which have 63
// bytes.
var fitSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func schemaOf(name string) (schema, error) {
	s := cmp.Or(name, string(homeSchema))
	if !fitSchema.MatchString(s) || strings.HasPrefix(s, "pg_") || s == "information_schema" {
		return "", core.InvalidField("schema", name, "must be up to 40 lower-case letters, digits and _, must not begin with a digit or pg_", "belfry")
	}
	return schema(s), nil
}

// sql inserts the name of this schema into a SQL text.
func (s schema) sql(query string) string {
	if s == homeSchema {
		return query
	}
	return strings.ReplaceAll(query, base.Home, string(s)+".")
}

// of returns the full name of a table.
func (s schema) of(table string) string { return string(s) + "." + table }

// makeSchema creates the schema if it is missing. It checks first: creating it needs a right on the database even if it exists.
func (db *DB) makeSchema(ctx context.Context) error {
	var there, reserved bool
	err := db.pool.QueryRow(ctx, `
		select to_regnamespace($1) is not null, exists (select from pg_get_keywords() where word = $1 and catcode in ('R', 'T'))`, string(db.schema)).Scan(&there, &reserved)
	if err != nil {
		return err
	}
	if reserved {
		return core.InvalidField("schema", string(db.schema), "must not be a reserved word of SQL", "belfry")
	}
	if there {
		return nil
	}
	_, err = db.pool.Exec(ctx, "create schema if not exists "+string(db.schema))
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "23505" || pg.Code == "42P06") { // another node has created it meanwhile
		return nil
	}
	return err
}

// migrate takes a lock until the end of the transaction, because a session lock does not work behind a pooler. A migration that
// waits longer than five minutes is rejected.
func (db *DB) migrate(ctx context.Context, dry bool) (from, to int64, err error) {
	if !dry {
		if err := db.makeSchema(ctx); err != nil {
			return 0, 0, err
		}
	}
	std := stdlib.OpenDBFromPool(db.pool)
	defer std.Close() //nolint:errcheck // the pool stays open
	table := db.schema.of("migrations")
	return base.Migrate(ctx, std, base.Migrations{
		Files: migrations(), Table: table, Name: db.schema.sql,
		There: func(table string) string { return "select to_regclass('" + db.schema.of(table) + "') is not null" },
		Lock:  "set local statement_timeout = 0; set local lock_timeout = '5min'; select pg_advisory_xact_lock(hashtextextended('" + table + "', 0)); set local lock_timeout to default",
	}, dry)
}

func migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// schemaKnown is the number of the last migration.
var schemaKnown = base.LastMigration(migrations())

// Schema returns the schema version of the database and the one known to this program. A reader with an older snapshot sees no
// floor while one is being raised: then the floor is the version itself.
func (db *DB) Schema(ctx context.Context) (core.Schema, error) {
	schema := core.Schema{Known: schemaKnown}
	err := db.pool.QueryRow(ctx, db.schema.sql(`
		select version, coalesce((`+base.FloorSQL+`), version)
		from (select coalesce(max(version), 0) as version from belfry.migrations) as last`)).Scan(&schema.Version, &schema.Floor)
	return schema, translate(err)
}

// serves returns nil if this program is not too old for the floor that a transaction has read. The transaction locks the table
// until it ends, so the floor cannot be raised before.
func serves(floor *int64) error {
	known := schemaKnown
	schema := core.Schema{Known: known, Floor: known + 1}
	if floor != nil {
		schema.Floor = *floor
	}
	if schema.Serves() {
		return nil
	}
	return schema.Refuse(core.Unavailable)
}

// mayWrite is the same for a transaction that did not begin with [beginSQL].
func (db *DB) mayWrite(ctx context.Context, tx pgx.Tx) error {
	var floor *int64
	if err := tx.QueryRow(ctx, db.schema.sql(`select max(version) from (`+base.FloorSQL+`) as floor`)).Scan(&floor); err != nil {
		return fmt.Errorf("read the schema's floor: %w", err)
	}
	return serves(floor)
}
