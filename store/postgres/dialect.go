package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Dialect returns the PostgreSQL form of statements.
func (db *DB) Dialect() base.Dialect { return dialect{clocked: db.clock != nil} }

type dialect struct {
	adopted bool // in a caller's transaction
	clocked bool // [base.Options.Clock] decides
}

// Table unpacks one array for each column.
func (dialect) Table(n int, alias string, b base.Batch) (from string, args []any) {
	cols := b.Cols()
	names, arrays := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		names[i], arrays[i] = c.Name, fmt.Sprintf("$%d::%s[]", n+i, typeOf(c))
	}
	return fmt.Sprintf("unnest(%s) as %s (%s)", strings.Join(arrays, ", "), alias, strings.Join(names, ", ")), b.Columns()
}

// ManyTable has one more column: a series whose length the planner cannot know and estimates as 1,000. It estimates an array as
// 10, and joins ten with ten rows by comparing each pair. For a batch of 800 workflow steps that took 150 ms, and a hash join 2
// ms.
func (d dialect) ManyTable(n int, alias string, b base.Batch) (from string, args []any) {
	cols := b.Cols()
	names, parts := make([]string, len(cols)+1), make([]string, len(cols)+1)
	for i, c := range cols {
		names[i], parts[i] = c.Name, fmt.Sprintf("unnest($%d::%s[])", n+i, typeOf(c))
	}
	names[len(cols)], parts[len(cols)] = "place", fmt.Sprintf("generate_series(1, cardinality($%d::%s[]))", n, typeOf(cols[0]))
	return fmt.Sprintf("rows from (%s) as %s (%s)", strings.Join(parts, ", "), alias, strings.Join(names, ", ")), b.Columns()
}

func typeOf(c base.Col) string {
	if c.Text {
		return "text"
	}
	return "bigint"
}

// Lease counts the picked jobs before it draws the number, so that every row is locked by then. Only if some jobs were leased
// already are they compared one by one: the planner has no faster way to search a list that it cannot know.
//
// Many leases of plain jobs become one row of packs, and others one row each.
func (d dialect) Lease(parts []base.Part, shares string, n int) string {
	with, picked := make([]string, len(parts)), make([]string, len(parts))
	for i, p := range parts {
		with[i] = p.Name + " as materialized (" + p.Query + ")"
		picked[i] = "select * from " + p.Name
	}
	return fmt.Sprintf(`
		with %[1]s,
		locked as materialized (
			select count(*) as jobs, array_agg(id) as ids, count(*) >= $%[7]d and $%[4]d::text is null and bool_and(%[8]s) as plain
			from (%[2]s) as picked),
		free as materialized (select f.id from locked cross join lateral belfry.unleased(ids) as f (id) where jobs > 0),
		drawn as materialized (select nextval('belfry.ids_lease') as number, %[10]s as at from free having count(*) > 0),
		packed as (
			insert into belfry.packs (number, session, claimed_at, first_job, last_job, living, jobs, ahead)
			select (select number from drawn), $%[3]d, (select at from drawn), min(id), max(id), count(*), array_agg(id order by id), case when count(*) > $%[9]d::bigint then 1 else 0 end
			from free
			where (select plain from locked)
			having count(*) > 0),
		leased as (
			insert into belfry.leases (job_id, number, session, slot_of, claimed_at, deadline_at, ahead)
			select id, (select number from drawn), $%[3]d, $%[4]d, (select at from drawn), (select at from drawn) + timeout + $%[6]d + case when kind = 'program' then %[11]d else 0 end, case when (select jobs from locked) > $%[9]d::bigint then 1 else 0 end
			from (%[2]s) as picked
			where not (select plain from locked) and id = any (array(select id from free)))
		select picked.*, coalesce((select number from drawn), 0), (select jobs from locked), coalesce((select at from drawn), 0)
		from (%[2]s) as picked
		where (select count(*) from free) = (select jobs from locked) or id = any (array(select id from free))`,
		strings.Join(with, ",\n"), strings.Join(picked, " union all "), n, n+1, n+2, n+3, n+4, shares, n+5, d.later(n+2), job.SendTime.Microseconds())
}

// later is an expression for parameter n, an instant read at the begin of the transaction, or for the present time if that is
// later. It may be much later: other transactions held rows that this one waited for, or created rows that it takes.
func (d dialect) later(n int) string {
	if d.clocked {
		return fmt.Sprintf("$%d::bigint", n)
	}
	return fmt.Sprintf("greatest($%d::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint)", n)
}

// LeaseNumber draws from the sequence, and reads the clock again.
func (d dialect) LeaseNumber(ctx context.Context, tx base.Tx, now int64) (number, at int64, err error) {
	rows, err := tx.Query(ctx, `select nextval('belfry.ids_lease'), `+d.later(1), now)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&number, &at)
	}
	return number, at, errors.Join(err, rows.Err())
}

// Walks sets for a read the same planner options as [beginSQL].
func (dialect) Walks() string {
	return `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`
}

// In compares with an array. Unlike a join, this can only be planned as lookups by key.
func (dialect) In(column string, n int) string { return fmt.Sprintf("%s = any($%d)", column, n) }

// Among is In.
func (d dialect) Among(column string, n int) string { return d.In(column, n) }

// List returns the array itself.
func (dialect) List(values any) any { return values }

// Unhex returns a bytea.
func (dialect) Unhex(text string) string { return "decode(" + text + ", 'hex')" }

// Marked returns a text.
func (dialect) Marked(doc, key, mark string) string {
	return "jsonb_set(" + doc + "::jsonb, '{" + key + "}', to_jsonb('" + mark + "'::text), false)::text"
}

// SkipLocked skips rows that another transaction is changing.
func (dialect) SkipLocked(of string) string { return " for update of " + of + " skip locked" }

// ForUpdate waits for such rows.
func (dialect) ForUpdate(of string) string { return " for update of " + of }

// ForKeyShare only conflicts with ForUpdate.
func (dialect) ForKeyShare(of string) string { return " for key share of " + of }

// Drawn calls a function, for which a role needs no right to read the sequence.
func (dialect) Drawn(of string) string {
	sequence := map[string]string{"job": "ids_job", "audit": "audit_seq_seq"}[of]
	return "coalesce(pg_sequence_last_value('belfry." + sequence + "'::regclass), 0)"
}

// NextIDs draws from a sequence.
func (dialect) NextIDs(ctx context.Context, tx base.Tx, sequence string, n int) ([]int64, error) {
	rows, err := tx.Query(ctx, `select nextval('belfry.ids_`+sequence+`') from generate_series(1, $1)`, n)
	if err != nil {
		return nil, err
	}
	return scanNumbers(rows)
}
