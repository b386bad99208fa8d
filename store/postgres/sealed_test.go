package postgres_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/internal/seal"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestNoSecretLiesInTheRows(t *testing.T) {
	dsn := pgtest.Migrated(t, postgres.Migrate)
	storetest.KeepNeedles(t, openAt(t, dsn, postgres.Options{Options: store.Options{Sealer: &seal.File{Path: filepath.Join(t.TempDir(), "key"), Own: true}}}))
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select quote_ident(tablename) from pg_tables where schemaname = 'belfry'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 30 {
		t.Fatal(tables, err)
	}
	sealed := 0
	for _, table := range tables {
		var found, marked int
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(`select count(*) filter (where cast(r as text) like '%%needle%%'), count(*) filter (where cast(r as text) like '%%sealed:%%') from belfry.%s r`, table)).Scan(&found, &marked); err != nil {
			t.Fatal(table, err)
		}
		if sealed += marked; found > 0 {
			t.Errorf("%d rows of %s have a secret", found, table)
		}
	}
	if sealed == 0 {
		t.Error("nothing sealed is in the rows either")
	}
}
