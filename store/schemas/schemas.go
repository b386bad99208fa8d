// Package schemas checks whether the schema of a database was created by the migrations of this program. It keeps a digest of
// each migration and compares it at the start, so that a database of another build is refused before its first write.
package schemas

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Keep creates the table of versions and digests.
func Keep(ctx context.Context, tx *sql.Tx, table string) error {
	_, err := tx.ExecContext(ctx, "create table if not exists "+table+" (version bigint primary key, at bigint not null default 0, digest text not null default '')")
	return err
}

// Same returns an error if the schema was created by files of the same versions with other statements. A file may be edited
// until it is released. The table holds versions and digests. A version without a digest is of a build from before digests, whose
// tables are not those of this one.
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
		v := versionOf(file)
		if digest, found := made[v]; found && digest != Digest(text) {
			return core.Errorf(core.Conflict, "the database was made by another build of Belfry: its schema version %d has other tables or columns", v).
				WithHint("start the build that made it; to move to this one, write its definitions with that build's belfry export, and apply them to a new database")
		}
	}
	return nil
}

// digests returns the digests of the versions in the database, empty where the table has no digests.
func digests(ctx context.Context, db *sql.DB, table string) (map[int64]string, error) {
	rows, err := db.QueryContext(ctx, "select * from "+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // read to the end, or failed
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	made := map[int64]string{}
	for rows.Next() {
		var version, at int64
		var digest string
		into := []any{&version, &at, &digest}
		for len(into) < len(columns) { // of a newer build
			into = append(into, new(any))
		}
		if err := rows.Scan(into[:len(columns)]...); err != nil {
			return nil, err
		}
		made[version] = digest
	}
	return made, rows.Err()
}

// Digest identifies the statements of a file, independent of comments and spaces. Every store computes it at the start: a regular
// expression takes ten times as long.
func Digest(text []byte) string {
	said := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case bytes.HasPrefix(text[i:], []byte("--")):
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case strings.IndexByte(" \t\n\f\r", c) < 0:
			said = append(said, c)
		}
	}
	sum := sha256.Sum256(said)
	return hex.EncodeToString(sum[:8])
}
