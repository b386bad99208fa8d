package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Inspect reads the statistics of the server. It returns no text of statements, which may contain data. Columns that the role
// may not see are left out.
func (db *DB) Inspect(ctx context.Context) (d view.DatabaseHealth, err error) {
	err = db.pool.QueryRow(ctx, `
		select pg_database_size(current_database()),
			(select count(*) from pg_stat_activity where backend_type = 'client backend'),
			current_setting('max_connections')::int`).Scan(&d.Size, &d.Connections, &d.Most)
	if err != nil {
		return d, translate(fmt.Errorf("look at the server: %w", err))
	}
	for _, part := range []func(context.Context, *view.DatabaseHealth) error{db.inspectTables, db.inspectTransactions, db.inspectSlots, db.inspectEpoch} {
		if err := part(ctx, &d); err != nil {
			return d, translate(err)
		}
	}
	return d, nil
}

func (db *DB) inspectTables(ctx context.Context, d *view.DatabaseHealth) error {
	rows, err := db.pool.Query(ctx, `
		select coalesce(p.relname, c.relname)::text,
			sum(greatest(c.reltuples, coalesce(s.n_live_tup, 0), 0))::bigint,
			sum(pg_total_relation_size(c.oid))::bigint,
			count(p.oid),
			sum(coalesce(s.n_dead_tup, 0))::bigint,
			max(greatest(s.last_vacuum, s.last_autovacuum))
		from pg_class c
		left join pg_stat_user_tables s on s.relid = c.oid
		left join pg_inherits i on i.inhrelid = c.oid
		left join pg_class p on p.oid = i.inhparent
		where c.relkind = 'r' and c.relnamespace = to_regnamespace($1)
		group by 1
		order by 3 desc
		limit 100`, string(db.schema))
	if err != nil {
		return fmt.Errorf("look at tables: %w", err)
	}
	d.Tables, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (t view.TableHealth, err error) {
		var at *time.Time
		err = r.Scan(&t.Name, &t.Rows, &t.Size, &t.Parts, &t.Dead, &at)
		t.Name, t.VacuumedAt = db.schema.of(t.Name), whole(at)
		return t, err
	})
	return err
}

func (db *DB) inspectTransactions(ctx context.Context, d *view.DatabaseHealth) error {
	var t view.OldTransaction
	var since *time.Time
	err := db.pool.QueryRow(ctx, `
		select xact_start, application_name, state, usename = current_user and application_name = current_setting('application_name')
		from (
			select xact_start, application_name, coalesce(state, '') as state, usename
			from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'
			union all
			select prepared, '', 'prepared', owner
			from pg_prepared_xacts
			where database = current_database()) as open
		order by xact_start
		limit 1`).Scan(&since, &t.Application, &t.State, &t.Own)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at transactions: %w", err)
	}
	t.Since = whole(since)
	d.Transaction = &t
	return nil
}

func (db *DB) inspectSlots(ctx context.Context, d *view.DatabaseHealth) error {
	rows, err := db.pool.Query(ctx, `
		select slot_name::text, active, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint as held
		from pg_replication_slots
		order by held desc
		limit 20`)
	if err != nil {
		return fmt.Errorf("look at replication slots: %w", err)
	}
	d.Slots, err = pgx.CollectRows(rows, pgx.RowToStructByPos[view.WALSlot])
	if refused(err) {
		return nil
	}
	return err
}

// whole returns an instant in UTC microseconds, or zero.
func whole(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return core.Micro(*t)
}
