package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/store"
)

// Dialect is what PostgreSQL says differently.
func (db *DB) Dialect() store.Dialect { return dialect{} }

type dialect struct{}

var types = map[store.ColType]string{store.Text: "text", store.Int: "bigint"}

// Table unpacks a JSON array with json_to_recordset.
func (dialect) Table(n int, alias string, cols ...store.Col) string {
	fields := make([]string, len(cols))
	for i, c := range cols {
		fields[i] = c.Name + " " + types[c.Type]
	}
	return fmt.Sprintf("json_to_recordset($%d::text::json) as %s (%s)", n, alias, strings.Join(fields, ", "))
}

// SkipLocked leaves rows alone that another transaction is changing.
func (dialect) SkipLocked(of string) string { return " for update of " + of + " skip locked" }

// ForUpdate waits for them.
func (dialect) ForUpdate(of string) string { return " for update of " + of }

// NextIDs draws from a sequence.
func (dialect) NextIDs(ctx context.Context, tx store.Tx, sequence string, n int) ([]int64, error) {
	rows, err := tx.Query(ctx, `select nextval('ids_`+sequence+`') from generate_series(1, $1)`, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := make([]int64, 0, n)
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
