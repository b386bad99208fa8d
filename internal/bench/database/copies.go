//go:build linux

package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// Copies of rows. All knowledge of these generators about the schema is in this file:
//
//   - schedules: its name and its id, and that doc, a JSON text, repeats the name;
//   - jobs_done: its id; tables with a column job_id belong to a job and are copied with it, if they are in [HistoryTables];
//   - a column whose name ends in _at, nominal and until are instants in microseconds, 0 for none;
//   - ids come from the sequences job and definition;
//   - on PostgreSQL, history lies in a partition for each day, named TABLE_YYYYMMDD.
//
// All other values of a row are copied from the model, so a new column needs no change here.

// HistoryTables are the tables with rows of a finished job, its own row first.
var HistoryTables = []string{"jobs_done", "attempts", "occurrences"}

// dialect has the SQL that differs between the two databases.
type dialect struct {
	postgres bool
	store    base.Dialect
}

// numbers is a from-item with the numbers from one parameter to another, as g.n.
func (d dialect) numbers(from, to string) string {
	if d.postgres {
		return "generate_series(cast(" + from + " as bigint), cast(" + to + " as bigint)) as g(n)"
	}
	return "(with recursive g(n) as (select " + from + " union all select n + 1 from g where n < " + to + ") select n from g) as g"
}

// Numbers is a from-item with the numbers from one parameter to another, as g.n.
func (s *Site) Numbers(from, to string) string {
	return dialect{postgres: s.Postgres()}.numbers(from, to)
}

// columns of a table, without the number that SQLite gives each row by itself.
func (d dialect) columns(ctx context.Context, tx base.Tx, table string) ([]string, error) {
	query := "select name from pragma_table_info('belfry_" + table + "') where name <> 'seq' order by cid"
	if d.postgres {
		query = "select column_name::text from information_schema.columns where table_schema = 'belfry' and table_name = '" + table + "' and is_identity = 'NO' order by ordinal_position"
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// reserve takes n ids of a sequence and returns the one before the first. On
// SQLite the store reserves ids ahead, so the ids must come from the store.
func (d dialect) reserve(ctx context.Context, tx base.Tx, sequence string, n int) (before int64, err error) {
	if d.postgres {
		last, err := Number(ctx, tx, "select setval('belfry.ids_"+sequence+"', nextval('belfry.ids_"+sequence+"') + $1)", n)
		return last - int64(n), err
	}
	ids, err := d.store.NextIDs(ctx, tx, sequence, n)
	if err != nil {
		return 0, err
	}
	return ids[0] - 1, nil
}

// Number reads one number with a query.
func Number(ctx context.Context, tx base.Tx, query string, args ...any) (n int64, err error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&n)
	}
	if err == nil {
		err = rows.Err()
	}
	return n, err
}

// Change runs one transaction.
func Change(ctx context.Context, st *store.Store, fn func(tx base.Tx) error) error {
	return st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error { return fn(tx) })
}

// copyStep bounds the rows of one transaction.
const copyStep = 100_000

// CloneSchedules makes n copies of each schedule whose name begins with prefix, as prefix…-1 to prefix…-n. A copy is
// its model in everything but id and name: it is due when the model is. The audit log gets no entries.
func (s *Site) CloneSchedules(ctx context.Context, st *store.Store, prefix string, n int) error {
	d := dialect{s.Postgres(), st.DB().Dialect()}
	var models, last int64
	if err := st.DB().Read(ctx, func(tx base.Tx) (err error) {
		from := " from belfry.schedules where name like '" + prefix + "%'"
		if models, err = Number(ctx, tx, "select count(*)"+from); err == nil {
			last, err = Number(ctx, tx, "select coalesce(max(id), 0)"+from)
		}
		return err
	}); err != nil {
		return fmt.Errorf("count the schedules to copy: %w", err)
	}
	if models == 0 {
		return fmt.Errorf("no schedule to copy begins with %q", prefix)
	}
	for done := 0; done < n; {
		step := min(n-done, max(copyStep/int(models), 1))
		err := Change(ctx, st, func(tx base.Tx) error {
			before, err := d.reserve(ctx, tx, "definition", step*int(models))
			if err != nil {
				return err
			}
			columns, err := d.columns(ctx, tx, "schedules")
			if err != nil {
				return err
			}
			rows, err := tx.Exec(ctx, copyOfSchedules(d, prefix, columns), before, done+1, models, done+step, last)
			if err == nil && rows != int64(step)*models {
				err = fmt.Errorf("%d rows were made of %d", rows, int64(step)*models)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("copy schedules: %w", err)
		}
		done += step
	}
	return nil
}

func copyOfSchedules(d dialect, prefix string, columns []string) string {
	values := make([]string, len(columns))
	for i, c := range columns {
		switch c {
		case "id":
			values[i] = "$1 + (g.n - $2) * $3 + m.place"
		case "name":
			values[i] = "m.name || '-' || g.n"
		case "doc":
			values[i] = `replace(m.doc, '"name":"' || m.name || '"', '"name":"' || m.name || '-' || g.n || '"')`
		default:
			values[i] = "m." + c
		}
	}
	return `
		insert into belfry.schedules (` + strings.Join(columns, ", ") + `)
		select ` + strings.Join(values, ", ") + `
		from (
			select *, row_number() over (order by id) as place
			from belfry.schedules
			where name like '` + prefix + `%' and id <= $5) as m
		cross join ` + d.numbers("$2", "$4")
}

// DeleteSchedules removes the schedules whose name begins with prefix, without audit entries or notifications.
func DeleteSchedules(ctx context.Context, st *store.Store, prefix string) error {
	return Change(ctx, st, func(tx base.Tx) error {
		_, err := tx.Exec(ctx, "delete from belfry.schedules where name like '"+prefix+"%'")
		return err
	})
}

// CloneHistory makes n finished jobs as copies of the existing finished jobs in turn, with all rows of a job. The ends of
// the copies are spread evenly over the span before those of the models. Ids are new, and all times of a job move equally.
func (s *Site) CloneHistory(ctx context.Context, st *store.Store, n int, span time.Duration) error {
	return s.CloneHistoryAs(ctx, st, n, span, nil)
}

// CloneHistoryAs is [Site.CloneHistory] with other values in some columns of jobs: expressions over the number g.n of the
// copy, the place m.place of its model, and the model's row r. Indexes are dropped and made again after the load, which
// takes a fifth of the time.
func (s *Site) CloneHistoryAs(ctx context.Context, st *store.Store, n int, span time.Duration, otherwise map[string]string) error {
	d := dialect{s.Postgres(), st.DB().Dialect()}
	var models, first int64
	if err := st.DB().Read(ctx, func(tx base.Tx) (err error) {
		for query, to := range map[string]*int64{"count(*)": &models, "min(finished_at)": &first} {
			if *to, err = Number(ctx, tx, "select coalesce("+query+", 0) from belfry.jobs_done"); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("count the finished jobs to copy: %w", err)
	}
	if models == 0 {
		return errors.New("there is no finished job to copy")
	}
	if s.Postgres() {
		if err := s.prepareDays(ctx, time.UnixMicro(first).Add(-span), span); err != nil {
			return err
		}
	}
	h := history{d: d, models: models, first: first, copies: (n + int(models) - 1) / int(models), gap: max(int(span.Microseconds())/n, 1), otherwise: otherwise}
	if err := Change(ctx, st, func(tx base.Tx) error { return h.begin(ctx, tx, HistoryTables) }); err != nil {
		return fmt.Errorf("copy history: %w", err)
	}
	for done := 0; done < h.copies; {
		step := min(h.copies-done, max(copyStep/int(models), 1))
		if err := Change(ctx, st, func(tx base.Tx) error { return h.copy(ctx, tx, done, step, HistoryTables) }); err != nil {
			return fmt.Errorf("copy history: %w", err)
		}
		done += step
	}
	for _, statement := range h.end {
		if err := Change(ctx, st, func(tx base.Tx) error { _, err := tx.Exec(ctx, statement); return err }); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// history is the state of one load of copies.
type history struct {
	d         dialect
	models    int64
	first     int64 // end of the first copy
	copies    int
	gap       int // microseconds between the ends of two copies
	otherwise map[string]string
	end       []string // statements that make the indexes again
}

// modelsOf is the table with the models' rows of a table, while no index finds them.
func modelsOf(table string) string { return "bench_models_" + table }

// begin copies the rows of the models and drops the indexes.
func (h *history) begin(ctx context.Context, tx base.Tx, tables []string) error {
	for _, table := range tables {
		indexes, err := h.d.indexes(ctx, tx, table)
		if err != nil {
			return err
		}
		statements := []string{"create table " + modelsOf(table) + " as select * from belfry." + table}
		for name, definition := range indexes {
			statements = append(statements, "drop index "+h.d.index(name))
			h.end = append(h.end, definition)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		h.end = append(h.end, "drop table "+modelsOf(table))
	}
	return nil
}

// index returns the full name of an index: on PostgreSQL it has the schema of its table.
func (d dialect) index(name string) string {
	if d.postgres {
		return "belfry." + name
	}
	return name
}

// Indexes returns the statements that make the indexes of a table, by name, without that of the primary key.
func (s *Site) Indexes(ctx context.Context, tx base.Tx, table string) (map[string]string, error) {
	return dialect{postgres: s.Postgres()}.indexes(ctx, tx, table)
}

// indexes returns the statements that make the indexes of a table, by name, without that of the primary key.
func (d dialect) indexes(ctx context.Context, tx base.Tx, table string) (map[string]string, error) {
	query := "select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name = 'belfry_" + table + "'"
	if d.postgres {
		query = "select indexname::text, replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes where schemaname = 'belfry' and tablename = '" + table + "'"
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		all[name] = definition
	}
	return all, rows.Err()
}

// copy copies all models step more times.
func (h *history) copy(ctx context.Context, tx base.Tx, done, step int, tables []string) error {
	before, err := h.d.reserve(ctx, tx, "job", step*int(h.models))
	if err != nil {
		return err
	}
	// id and shift of copy g of model m: shift is added to its times.
	id := "$1 + (g.n - $2) * $3 + m.place"
	shift := "$5 - m.finished_at - ($6 - g.n) * $3 * $7 + m.place * $7"
	for _, table := range tables {
		columns, err := h.d.columns(ctx, tx, table)
		if err != nil {
			return err
		}
		own := h.otherwise
		if table != "jobs_done" {
			own = nil
		}
		rows, err := tx.Exec(ctx, copyOf(h.d, table, columns, id, shift, own), before, done+1, h.models, done+step, h.first, h.copies+1, h.gap)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		if table == "jobs_done" && rows != int64(step)*h.models {
			return fmt.Errorf("%d jobs were made of %d", rows, int64(step)*h.models)
		}
	}
	return nil
}

// copyOf returns the statement that copies the models' rows of one table.
func copyOf(d dialect, table string, columns []string, id, shift string, own map[string]string) string {
	key := "job_id"
	if table == "jobs_done" {
		key = "id"
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		switch {
		case own[c] != "":
			values[i] = own[c]
		case c == key:
			values[i] = id
		case c == "nominal" || c == "until" || strings.HasSuffix(c, "_at"):
			values[i] = "case when r." + c + " = 0 then 0 else r." + c + " + " + shift + " end"
		default:
			values[i] = "r." + c
		}
	}
	order := "g.n, m.place"
	if slices.Contains(columns, "number") {
		order += ", r.number"
	}
	return `
		insert into belfry.` + table + ` (` + strings.Join(columns, ", ") + `)
		select ` + strings.Join(values, ", ") + `
		from (
			select id, finished_at, row_number() over (order by id) as place
			from ` + modelsOf("jobs_done") + `) as m
		join ` + modelsOf(table) + ` r on r.` + key + ` = m.id
		cross join ` + d.numbers("$2", "$4") + `
		order by ` + order
}

// prepareDays makes the partitions of past days, as a node that ran then would have done.
func (s *Site) prepareDays(ctx context.Context, from time.Time, span time.Duration) error {
	rows, err := s.Conn.Query(ctx, `
		select c.relname
		from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
		where c.relnamespace = 'belfry'::regnamespace`)
	if err != nil {
		return err
	}
	var parents []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		parents = append(parents, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	const day = 24 * time.Hour
	for at := from.UTC().Truncate(day); !at.After(from.Add(span)); at = at.Add(day) {
		for _, parent := range parents {
			_, err := s.Conn.Exec(ctx, fmt.Sprintf("create table if not exists belfry.%s_%s partition of belfry.%s for values from (%d) to (%d)",
				parent, at.Format("20060102"), parent, at.UnixMicro(), at.Add(day).UnixMicro()))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
