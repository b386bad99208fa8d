//go:build linux || darwin

package pgtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Reused are databases that serve one test after another, with the connections to them: a new database, and what
// connections must learn of it, cost more than most tests. After each test a database is made equal to a new one. Tables
// that the test has added are dropped, or the whole database if the test has changed others, or still uses a connection.
type Reused struct {
	Migrate   func(ctx context.Context, url string) (from, to int64, err error) // as in [Migrated]
	Configure func(*pgxpool.Config)
	// Name is that of the database to copy, where a package has several. By default it is the one of [Migrated].
	Name string

	mu   sync.Mutex
	free []*reused
}

type reused struct {
	name  string
	pools []*pgxpool.Pool
	uses  int64 // of the pools, up to the end of the last test
}

// Pool returns connections to a database that no other test has at this moment. What the test opens after this has to be
// closed by a cleanup.
func (r *Reused) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return r.Pools(t, 1)[0]
}

// Pools is [Reused.Pool] for n nodes: each has its own connections to the one database. The test fails if they had a deadlock,
// as in [NoDeadlocks].
func (r *Reused) Pools(t testing.TB, n int) []*pgxpool.Pool {
	t.Helper()
	d := r.take()
	if d == nil {
		d = r.create(t)
	}
	if d.acquired() != d.uses {
		t.Errorf("pgtest: database %s was used between two tests: an earlier one has left something running", d.name)
	}
	for len(d.pools) < n {
		pool, err := r.connect(shared.server.SocketURL(d.name))
		if err != nil {
			t.Fatalf("pgtest: connect to database %s: %v", d.name, err)
		}
		d.pools = append(d.pools, pool)
	}
	t.Cleanup(func() {
		if again, err := d.empty(); err != nil {
			t.Errorf("pgtest: empty database %s: %v", d.name, err)
		} else if again {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.free = append(r.free, d)
			return
		}
		for _, pool := range d.pools {
			go pool.Close() // which waits for what the test still uses
		}
		drop(t, shared.server, d.name)
	})
	noDeadlocks(t, shared.server, d.name)
	return d.pools[:n]
}

func (r *Reused) take() *reused {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	if last < 0 {
		return nil
	}
	d := r.free[last]
	r.free = r.free[:last]
	return d
}

func (r *Reused) create(t testing.TB) *reused {
	t.Helper()
	from := cmp.Or(r.Name, template)
	s := migrated(t, from, r.Migrate)
	d := &reused{name: s.databaseName("reused")}
	err := s.createDatabase(d.name, from)
	var pool *pgxpool.Pool
	if err == nil {
		pool, err = r.connect(s.SocketURL(d.name))
	}
	if err == nil {
		_, err = pool.Exec(context.Background(), noteSQL)
	}
	if err != nil {
		t.Fatalf("pgtest: create database %s: %v", d.name, err)
	}
	d.pools = []*pgxpool.Pool{pool}
	d.uses = d.acquired()
	return d
}

func (r *Reused) connect(url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	r.Configure(cfg)
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

// acquired returns how often a connection was taken.
func (d *reused) acquired() (n int64) {
	for _, pool := range d.pools {
		n += pool.Stat().AcquireCount()
	}
	return n
}

// empty makes the database equal to a new one, and reports whether it could.
func (d *reused) empty() (done bool, err error) {
	inUse := func(pool *pgxpool.Pool) bool { return pool.Stat().AcquiredConns() > 0 }
	for deadline := time.Now().Add(time.Second); slices.ContainsFunc(d.pools, inUse); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false, nil
		}
	}
	if err := d.pools[0].QueryRow(context.Background(), `select pgtest.empty()`).Scan(&done); err != nil {
		return false, err
	}
	d.uses = d.acquired()
	return done, nil
}

// noteSQL notes in a new database its rows, the places of its sequences and its tables, and makes the function that goes
// back to them: pgtest.empty, which is false where the first tables are no longer what they were. Few rows are deleted, because a table that is
// truncated is another file and needs new plans.
const noteSQL = `
create schema pgtest;
create view pgtest.tables as
	select c.oid, c.oid::regclass::text as name, 'pgtest.rows_' || c.oid as rows, pg_relation_size(c.oid) as size
	from pg_class c join pg_namespace n on n.oid = relnamespace
	where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema', 'pgtest');
create view pgtest.shape as
	select md5(string_agg(concat_ws(' ', c.oid, relname, relkind, relnatts, relchecks), ',' order by c.oid)) as hash
	from pg_class c join pg_namespace n on n.oid = relnamespace
	where c.oid >= 16384 and nspname not in ('pg_toast', 'pgtest');

create table pgtest.first_shape as table pgtest.shape;
create table pgtest.first_tables as select oid from pgtest.tables;
create table pgtest.first_numbers as
	select format('%I.%I', schemaname, sequencename)::regclass as sequence, coalesce(last_value, start_value) as value, last_value is not null as called
	from pg_sequences;
do $$ declare t record; begin
	for t in select * from pgtest.tables where size > 0 loop
		execute 'create table ' || t.rows || ' as table ' || t.name;
	end loop;
end $$;

do $do$ begin
	execute 'create procedure pgtest.empty_tables() language plpgsql as $$ begin ' || (
		select string_agg(case when to_regclass(rows) is null then format('delete from %s;', name) else format(
			'if exists ((table %1$s except all table %2$s) union all (table %2$s except all table %1$s)) then
				delete from %1$s;
				insert into %1$s overriding system value table %2$s;
			end if;', name, rows) end, ' ')
		from pgtest.tables) || ' end $$';
end $do$;

create function pgtest.as_first() returns boolean language sql as 'select hash = (select hash from pgtest.first_shape) from pgtest.shape';
create function pgtest.empty() returns boolean language plpgsql as $$ declare added text; large text; begin
	if not pgtest.as_first() then
		select string_agg(name, ', ') into added from pgtest.tables where oid not in (select oid from pgtest.first_tables);
		if added is null then
			return false;
		end if;
		begin
			execute 'drop table ' || added;
		exception when dependent_objects_still_exist then
			return false;
		end;
		if not pgtest.as_first() then
			return false;
		end if;
	end if;
	select string_agg(name, ', ') into large from pgtest.tables where size > 64 * 1024;
	if large is not null then
		execute 'truncate ' || large;
	end if;
	call pgtest.empty_tables();
	perform setval(sequence, value, called) from pgtest.first_numbers;
	return true;
end $$;
`
