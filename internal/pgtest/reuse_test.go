//go:build linux || darwin

package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tenancy makes the tables of the tests of [Reused], in the database that tests of this process copy.
func tenancy(ctx context.Context, url string) (from, to int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		create schema "a house";
		create table "a house".rooms (id bigint generated always as identity primary key, name text unique);
		create table "a house"."guests of" (id serial, room text) partition by range (id);
		create table "a house".early partition of "a house"."guests of" for values from (0) to (10);
		insert into "a house".rooms (name) values ('hall'), ('hall of mirrors');
		create sequence bells start 7`)
	return 0, 1, err
}

func TestReusedDatabaseIsAsNew(t *testing.T) {
	r := Reused{Migrate: tenancy, Configure: func(*pgxpool.Config) {}}
	t.Cleanup(func() {
		for _, d := range r.free {
			for _, pool := range d.pools {
				pool.Close()
			}
		}
	})
	state := func(t *testing.T, pool *pgxpool.Pool) (all string) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `
			select json_build_object(
				'rooms', (select json_agg(r order by id) from "a house".rooms r),
				'guests', (select json_agg(g order by id) from "a house"."guests of" g),
				'sequences', (select json_agg(s order by sequencename) from pg_sequences s))::text`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var first *pgxpool.Pool
	var fresh string
	for _, c := range []struct {
		name, does string
		again      bool // the next test has this database
	}{
		{"nothing", ``, true},
		{"rows", `insert into "a house".rooms (name) values ('attic'); insert into "a house"."guests of" (room) values ('attic'); select nextval('bells')`, true},
		{"first rows changed", `update "a house".rooms set name = 'cellar' where name = 'hall'`, true},
		{"first rows gone", `delete from "a house".rooms`, true},
		{"first rows twice", `alter sequence "a house".rooms_id_seq restart 50; insert into "a house".rooms (name) values (null)`, true},
		{"many rows", `insert into "a house".rooms (name) select 'room ' || n from generate_series(1, 20000) as n`, true},
		{"more tables", `create table attics (n integer); create table "a house"."attics too" (n serial primary key references "a house".rooms)`, true},
		{"another part", `create table "a house".late partition of "a house"."guests of" for values from (10) to (20)`, true},
		{"another table and a view of it", `create table attics (n integer); create view ladders as table attics`, false},
		{"another table and a column less", `create table attics (n integer); alter table "a house".rooms drop column name`, false},
		{"a column less", `alter table "a house".rooms drop column name`, false},
		{"a part less", `drop table "a house".early`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := r.Pool(t)
			if fresh == "" {
				fresh = state(t, pool)
			}
			if first != nil && pool != first {
				t.Error("the database is another")
			}
			if now := state(t, pool); now != fresh {
				t.Errorf("it is not as new:\n%s\na new one:\n%s", now, fresh)
			}
			if _, err := pool.Exec(t.Context(), c.does); err != nil {
				t.Fatal(err)
			}
			if first = nil; c.again {
				first = pool
			}
		})
	}
	t.Run("nodes", func(t *testing.T) {
		var mine []*pgxpool.Pool
		t.Run("of one database", func(t *testing.T) {
			mine = r.Pools(t, 3)
			for _, pool := range mine {
				if _, err := pool.Exec(t.Context(), `insert into "a house".rooms (name) values (null)`); err != nil {
					t.Fatal(err)
				}
			}
			var n int
			if err := mine[0].QueryRow(t.Context(), `select count(*) from "a house".rooms where name is null`).Scan(&n); err != nil || n != 3 {
				t.Errorf("rows of three nodes: got %d, %v", n, err)
			}
		})
		if again := r.Pools(t, 2); again[0] != mine[0] || again[1] != mine[1] {
			t.Error("the nodes of the next test have other connections")
		} else if now := state(t, again[1]); now != fresh {
			t.Errorf("it is not as new:\n%s\na new one:\n%s", now, fresh)
		}
	})
	t.Run("connection held", func(t *testing.T) {
		var held *pgxpool.Conn
		t.Run("by a test that has ended", func(t *testing.T) {
			var err error
			if held, err = r.Pool(t).Acquire(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
		defer held.Release()
		if len(r.free) > 0 {
			t.Error("the database is given to the next test")
		}
	})
}
