// Package schemas tells whether the schema of a database was made by the same migrations as a program has.
package schemas

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/belfry-run/belfry/core"
)

// Keep makes the table of versions and digests, or adds the digests to one from before they were kept.
func Keep(ctx context.Context, tx *sql.Tx, table string) error {
	if _, err := tx.ExecContext(ctx, "create table if not exists "+table+" (version bigint primary key, at bigint not null default 0, digest text not null default '')"); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "select * from "+table+" limit 0")
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Close()); err != nil || len(columns) > 2 {
		return err
	}
	_, err = tx.ExecContext(ctx, "alter table "+table+" add column digest text not null default ''")
	return err
}

// Same refuses a schema that was made by files of the same versions with other statements: a file may be edited until
// it is released. Table keeps versions and digests. A schema from before digests were kept is taken as it is.
func Same(ctx context.Context, db *sql.DB, table string, migrations fs.FS, versionOf func(file string) int64) error {
	made, err := digests(ctx, db, table)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	files, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(migrations, file)
		if err != nil {
			return err
		}
		if v := versionOf(file); made[v] != "" && made[v] != Digest(text) {
			return core.Errorf(core.Conflict, "the database was made by another build of Belfry: its schema version %d has other tables or columns", v).
				WithHint("start the build that made it; to move to this one, write its definitions with that build's belfry export, and apply them to a new database")
		}
	}
	return nil
}

// digests are those of the versions that were made.
func digests(ctx context.Context, db *sql.DB, table string) (map[int64]string, error) {
	rows, err := db.QueryContext(ctx, "select * from "+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // read to the end, or failed
	if columns, err := rows.Columns(); err != nil || len(columns) < 3 {
		return nil, err
	}
	made := map[int64]string{}
	for rows.Next() {
		var version, at int64
		var digest string
		if err := rows.Scan(&version, &at, &digest); err != nil {
			return nil, err
		}
		made[version] = digest
	}
	return made, rows.Err()
}

var unsaid = regexp.MustCompile(`--[^\n]*|\s+`)

// Digest names the statements of a file, whatever its comments and spaces.
func Digest(text []byte) string {
	sum := sha256.Sum256(unsaid.ReplaceAll(text, nil))
	return hex.EncodeToString(sum[:8])
}
