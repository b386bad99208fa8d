package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/view"
)

func TestDatabaseHealthOfAServer(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	oldDay(t, dsn, 3, 500)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // of a test
	for _, q := range []string{"set application_name = 'report builder'", "begin", "select 'a secret of a customer'"} {
		if _, err := conn.Exec(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	d, err := st.DatabaseHealth(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if o := d.Transaction; o == nil || o.Application != "report builder" || o.State != "idle in transaction" || o.Own || o.Since.After(d.Now) {
		t.Errorf("%+v", o)
	}
	if d.File != nil || d.Size < 1<<20 || d.Connections < 1 || d.Most < d.Connections {
		t.Errorf("%+v", d)
	}
	i := slices.IndexFunc(d.Tables, func(x view.TableHealth) bool { return x.Name == "belfry.jobs_done" })
	if i < 0 || d.Tables[i].Rows < 500 || d.Tables[i].Parts < 5 || d.Tables[i].Size == 0 {
		t.Errorf("%+v", d.Tables)
	}
}
