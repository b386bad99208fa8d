package postgres

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/belfry-run/belfry/store/base"
)

// foreseen holds the answers that came with the begin of a transaction.
type foreseen struct {
	types   *pgtype.Map
	answers []answer
}

// answer is the raw answer to a query.
type answer struct {
	base.Statement
	fields []pgconn.FieldDescription
	rows   [][][]byte
}

// collect reads the next answer of a batch.
func (f *foreseen) collect(s base.Statement, res pgx.BatchResults) error {
	rows, err := res.Query()
	a := answer{Statement: s}
	if err == nil {
		a.fields = slices.Clone(rows.FieldDescriptions())
		for rows.Next() {
			row := rows.RawValues() // valid until the next one
			for i := range row {
				row[i] = slices.Clone(row[i])
			}
			a.rows = append(a.rows, slices.Clone(row))
		}
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s.SQL)
	}
	f.answers = append(f.answers, a)
	return nil
}

// take returns the answer to a query, once.
func (f *foreseen) take(query string, args []any) (base.Rows, bool) {
	if f == nil {
		return nil, false
	}
	for i, a := range f.answers {
		if a.SQL == query && reflect.DeepEqual(a.Args, args) {
			f.answers = slices.Delete(f.answers, i, i+1)
			return &answerRows{types: f.types, answer: a}, true
		}
	}
	return nil, false
}

// answerRows iterates over an answer.
type answerRows struct {
	answer
	types *pgtype.Map
	at    int // index after the current row
}

func (r *answerRows) Next() bool {
	r.at++
	return r.at <= len(r.rows)
}

func (r *answerRows) Scan(dest ...any) error {
	if len(dest) != len(r.fields) {
		return fmt.Errorf("%d columns into %d places", len(r.fields), len(dest))
	}
	for i, f := range r.fields {
		if err := r.types.Scan(f.DataTypeOID, f.Format, r.rows[r.at-1][i], dest[i]); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return nil
}

func (r *answerRows) Err() error { return nil }
func (r *answerRows) Close()     {}

var _ base.Foreseer = (*DB)(nil)
