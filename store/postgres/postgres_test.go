package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	return openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{Options: o})
}

func openAt(t *testing.T, dsn string, o postgres.Options) *store.Store {
	t.Helper()
	if o.MaxConns == 0 {
		o.MaxConns = 4
	}
	st, err := postgres.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestConformance(t *testing.T) { storetest.Run(t, openReused) }

var databases = pgtest.Reused{Migrate: postgres.Migrate, Configure: postgres.ConfigureOpened}

// openReused is open on a database that cases had before, see [pgtest.Reused].
func openReused(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	return openSeveral(t, o, 1)[0]
}

func openNodes(t *testing.T, o store.Options) []*store.Store {
	t.Helper()
	all := openSeveral(t, o, 3)
	leasesFit(t, all[0])
	return all
}

func openSeveral(t *testing.T, o store.Options, n int) (all []*store.Store) {
	t.Helper()
	for _, pool := range databases.Pools(t, n) {
		st, err := postgres.New(t.Context(), pool, postgres.Options{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, st)
	}
	return all
}

func TestNodes(t *testing.T) { storetest.RunNodes(t, openNodes) }

// openPacking packs the leases of each claim, as far as they can be.
func openPacking(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	o.PackFrom = 1
	return leasesFit(t, openReused(t, o))
}

// leasesFit looks at the end of the test whether leases, packs and jobs fit
// together.
func leasesFit(t *testing.T, st *store.Store) *store.Store {
	t.Helper()
	t.Cleanup(func() { checkLeases(t, st) })
	return st
}

func checkLeases(t *testing.T, st *store.Store) {
	t.Helper()
	for what, query := range map[string]string{
		"packs that have miscounted":           `select count(*) from belfry.packs p where living < (select count(*) from belfry.jobs where id = any (p.jobs))`,
		"packs without a job":                  `select count(*) from belfry.packs where living <= 0`,
		"jobs with two leases":                 `select count(*) from (select job_id from belfry.running group by job_id having count(*) > 1) as twice`,
		"leases without a job":                 `select count(*) from belfry.leases where not exists (select from belfry.jobs where id = job_id)`,
		"leases older than one that has ended": `select count(*) from belfry.running join belfry.jobs on id = job_id where number <= lease`,
		"lists that are not in order":          `select count(*) from belfry.packs where jobs <> array(select id from unnest(jobs) as t (id) order by id) or first_job > jobs[1] or last_job < jobs[array_length(jobs, 1)]`,
	} {
		var n int
		if err := st.DB().(*postgres.DB).Pool().QueryRow(context.Background(), query).Scan(&n); err != nil || n > 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
}

func TestTx(t *testing.T) {
	t.Run("packs", func(t *testing.T) { storetest.RunTx(t, openPacking, beginPgx) })
	t.Run("pgx", func(t *testing.T) { storetest.RunTx(t, openReused, beginPgx) })
	t.Run("database/sql", func(t *testing.T) { storetest.RunTx(t, openReused, beginStd) })
	t.Run("packs, database/sql", func(t *testing.T) { storetest.RunTx(t, openPacking, beginStd) })
}

func beginPgx(t *testing.T, st *store.Store) storetest.UserTx {
	t.Helper()
	tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return storetest.UserTx{
		Tx:       tx,
		Exec:     func(statement string) error { _, err := tx.Exec(t.Context(), statement); return err },
		Commit:   func() error { return tx.Commit(t.Context()) },
		Rollback: func() error { return tx.Rollback(t.Context()) },
	}
}

func beginStd(t *testing.T, st *store.Store) storetest.UserTx {
	t.Helper()
	db := stdlib.OpenDBFromPool(st.DB().(*postgres.DB).Pool())
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.UserTx{
		Tx:       tx,
		Exec:     func(statement string) error { _, err := tx.Exec(statement); return err },
		Commit:   tx.Commit,
		Rollback: tx.Rollback,
	}
}

// TestBehindPooler runs the worker's part of the suite as it would run behind
// a pooler in transaction mode: nothing that a session remembers survives the
// end of a transaction, and nothing is prepared.
func TestBehindPooler(t *testing.T) { runBehindPooler(t, 0) }

func TestClaimPathsBehindPooler(t *testing.T) { runBehindPooler(t, 1) }

// forgetful has databases for them.
var forgetful = pgtest.Reused{Migrate: postgres.Migrate, Configure: postgres.ConfigureForgetful}

func runBehindPooler(t *testing.T, packFrom int) {
	storetest.RunLeaser(t, func(t *testing.T) (job.Leaser, storetest.Admin) {
		clock := storetest.NewClock()
		st, err := postgres.New(t.Context(), forgetful.Pool(t), postgres.Options{Options: store.Options{Clock: clock.Now, PackFrom: packFrom}, Wakeups: "poll"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st, storetest.NewAdmin(st, clock)
	})
}
