package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// altered returns an error that names a table, view or index of the file that is not as the migrations make it, or nil. The file has
// no checksum for these definitions, and a damaged one fails as a wrong statement would: it names no column that exists.
func (p prefix) altered(ctx context.Context, file *sql.DB) (is, err error) {
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1) // each connection has a database of its own
	if _, _, err := p.migrate(ctx, fresh, false); err != nil {
		return nil, err
	}
	want, err := definitions(ctx, fresh)
	if err != nil {
		return nil, err
	}
	have, err := definitions(ctx, file)
	if err != nil {
		return nil, err
	}
	for name, text := range want { // what others have in the file is theirs
		if have[name] != text {
			return fmt.Errorf("the definition of %s was altered", name), nil
		}
	}
	return nil, nil
}

func definitions(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `select name, sql from sqlite_schema where sql is not null`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // it was read
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, rows.Err()
}
