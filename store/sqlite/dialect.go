package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/store/base"
)

// Dialect returns the SQLite form of statements.
func (db *DB) Dialect() base.Dialect {
	if db.noBatches {
		return foreign{}
	}
	return dialect{}
}

// dialect is the dialect of the writer, and foreign that of a connection without the table of batches.
type (
	dialect struct{}
	foreign struct{ dialect }
)

// Table returns a view that reads the batch in place.
func (dialect) Table(n int, alias string, b base.Batch) (from string, args []any) {
	cols := b.Cols()
	fields := make([]string, len(cols))
	for i, c := range cols {
		fields[i] = fmt.Sprintf("c%d as %s", i, c.Name)
	}
	return fmt.Sprintf("(select %s from %s($%d)) as %s", strings.Join(fields, ", "), batchTable, n, alias), []any{batchArg{b}}
}

// Walks is empty: SQLite reads by indexes anyway.
func (dialect) Walks() string { return "" }

// Table unpacks a JSON array with json_each.
func (foreign) Table(n int, alias string, b base.Batch) (from string, args []any) {
	cols := b.Cols()
	fields := make([]string, len(cols))
	for i, c := range cols {
		fields[i] = fmt.Sprintf("value ->> '$.%s' as %s", c.Name, c.Name)
	}
	return fmt.Sprintf("(select %s from json_each($%d)) as %s", strings.Join(fields, ", "), n, alias), []any{rowsArg(b)}
}

// rowsArg returns the rows as JSON.
func rowsArg(b base.Batch) any {
	if checkTexts(b.Columns()) != nil {
		return noList{}
	}
	return encode(b.Rows())
}

// ManyTable is Table.
func (f foreign) ManyTable(n int, alias string, b base.Batch) (from string, args []any) {
	return f.Table(n, alias, b)
}

// Succeed is Succeed of dialect with this Table.
func (foreign) Succeed(ctx context.Context, tx base.Tx, session string, rows []base.Success, now int64) ([]base.Succeeded, error) {
	return succeed(ctx, foreign{}, tx, session, rows, now)
}

// Lease is empty: the database is in this process, so a statement needs no round trip.
func (dialect) Lease([]base.Part, string, int) string { return "" }

// LeaseNumber returns the time in microseconds, or the last number plus one if that is larger. So a restored copy of the file
// does not repeat a number. A worker with leases of the lost time cannot write under one of its own numbers.
func (d dialect) LeaseNumber(ctx context.Context, tx base.Tx, now int64) (number, at int64, err error) {
	number, _, err = base.First(ctx, tx, base.ScanInt, `
		update belfry.sequences
		set value = max(value + 1, $1)
		where name = 'lease'
		returning value`, now)
	return number, now, err // no other writer exists, so now is still valid
}

// Unleased looks for a lease in both forms. Claims go upwards, so most waiting jobs have larger ids than any leased job. The
// largest leased id is read once and compared first.
func (d dialect) Unleased(column string) string {
	return strings.ReplaceAll("(? > (select coalesce(max(job_id), 0) from belfry.leases) or (select number from belfry.leases where job_id = ?) is null)", "?", column) + d.UnpackedSince(column, "")
}

// UnpackedSince looks into the packs whose range contains the job, whatever their age.
func (dialect) UnpackedSince(column, _ string) string {
	return strings.ReplaceAll(" and (? > (select coalesce(max(last_job), 0) from belfry.packs) or not exists (select 1 from belfry.packs p where p.last_job >= ? and p.first_job <= ? and instr(p.jobs, ',' || ? || ',') > 0))", "?", column)
}

// In unpacks a JSON array.
func (dialect) In(column string, n int) string {
	return fmt.Sprintf("%s in (select value from json_each($%d))", column, n)
}

// ManyTable is Table.
func (d dialect) ManyTable(n int, alias string, b base.Batch) (from string, args []any) {
	return d.Table(n, alias, b)
}

// Among has no effect. For SQLite it would be another way to start the plan, and a slow one.
func (dialect) Among(_ string, n int) string { return fmt.Sprintf("$%d is not null", n) }

// List returns a JSON array.
func (dialect) List(values any) any {
	if texts, is := values.([]string); is && !areTexts(texts) {
		return noList{}
	}
	return encode(values)
}

// encode cannot fail: its values consist of integers and texts.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a batch: %v", err))
	}
	return string(b)
}

// Unhex returns a blob.
func (dialect) Unhex(text string) string { return "unhex(" + text + ")" }

// Marked returns a text.
func (dialect) Marked(doc, key, mark string) string {
	return "json_replace(" + doc + ", '$." + key + "', '" + mark + "')"
}

// SkipLocked, ForUpdate and ForKeyShare are empty: there is one writer.
func (dialect) SkipLocked(string) string  { return "" }
func (dialect) ForUpdate(string) string   { return "" }
func (dialect) ForKeyShare(string) string { return "" }

// Drawn reads the table of sequences, or that of SQLite for a column that counts by itself.
func (dialect) Drawn(of string) string {
	if of == "audit" {
		return "coalesce((select seq from sqlite_sequence where name = 'belfry.audit'), 0)"
	}
	return "coalesce((select value from belfry.sequences where name = '" + of + "'), 0)"
}

// NextIDs takes numbers from the table of sequences.
func (dialect) NextIDs(ctx context.Context, tx base.Tx, sequence string, n int) ([]int64, error) {
	last, _, err := base.First(ctx, tx, base.ScanInt, `
		update belfry.sequences
		set value = value + $1
		where name = $2
		returning value`, n, sequence)
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = last - int64(n) + 1 + int64(i)
	}
	return ids, err
}
