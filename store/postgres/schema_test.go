package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

const (
	newerSchema = "insert into belfry.migrations (version) values (999)"
	raisedFloor = "truncate belfry.schema_floor; insert into belfry.schema_floor (version) values (999)"
)

func wantOutdated(t *testing.T, what string, err error, code core.Code) {
	t.Helper()
	if !errors.Is(err, core.ErrOutdated) || core.CodeOf(err) != code {
		t.Errorf("%s: %v", what, err)
	}
}

func TestExpandedSchemaIsUsedByOlderPrograms(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	exec(t, dsn, newerSchema)
	st := openAt(t, dsn, postgres.Options{})
	if _, _, err := postgres.Migrate(t.Context(), dsn); err != nil {
		t.Error(err)
	}
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil {
		t.Error(err)
	}
	h, err := st.Health(t.Context())
	if err != nil || h.SchemaVersion != 999 || !h.Schema().Check().OK {
		t.Errorf("%+v, %v", h, err)
	}
}

// Nothing of an older program is committed after the floor was raised: neither by
// transitions, nor in transactions of its users, nor by its care for partitions.
func TestRaisedFloorRefusesEveryWrite(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	session := worker(t, st, "t")
	pool := st.DB().(*postgres.DB).Pool()
	snapshot, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Rollback(context.Background())
	if _, err := snapshot.Exec(t.Context(), "select 1 from belfry.jobs"); err != nil { // its view is from here on
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { ended <- st.Run(ctx) }()
	waited := make(chan error, 1)
	go func() {
		_, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
		waited <- err
	}()
	nudged := st.Nudged(session)

	exec(t, dsn, newerSchema, raisedFloor)

	wantOutdated(t, "run", <-ended, core.Conflict)
	wantOutdated(t, "a claim that waits", <-waited, core.Unavailable)
	<-nudged // the worker renews and is told so
	_, err = st.Renew(t.Context(), session, job.Held())
	wantOutdated(t, "renew", err, core.Unavailable)

	fresh, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	wantOutdated(t, "open", err, core.Conflict)
	wantCode(t, err, core.Conflict, "schema_version", "must be 999 or newer", "start the belfry that migrated")
	if fresh != nil {
		t.Error("it was opened all the same")
	}
	_, _, err = postgres.Migrate(t.Context(), dsn)
	wantOutdated(t, "migrate", err, core.Conflict)

	exec(t, dsn, "update belfry.migrations set version = 0 where version = 999") // and now one that nobody has told yet
	for what, act := range map[string]func(st *store.Store) error{
		"enqueue": func(st *store.Store) error {
			_, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}})
			return err
		},
		"fire":    func(st *store.Store) error { _, err := st.FireDue(t.Context()); return err },
		"release": func(st *store.Store) error { _, err := st.ReleaseLost(t.Context()); return err },
		"session": func(st *store.Store) error {
			_, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 1}})
			return err
		},
		"finish": func(st *store.Store) error {
			_, err := st.Finish(t.Context(), session, []job.Finish{{Ref: job.Ref{JobID: 1, Lease: 1}, Outcome: job.OutcomeOK}})
			return err
		},
		"partition": func(st *store.Store) error {
			exec(t, dsn, "drop table belfry.logs_"+time.Now().UTC().AddDate(0, 0, 3).Format("20060102"))
			_, err := st.DB().Prune(t.Context(), store.Keep{Age: time.Hour, Jobs: 1})
			return err
		},
		"snapshot": func(st *store.Store) error {
			_, err := st.EnqueueTx(t.Context(), snapshot, []job.NewJob{{Task: "t"}})
			return err
		},
	} {
		// Opened before, as far as the store can tell.
		unaware := store.New(st.DB(), store.Options{})
		wantOutdated(t, what, act(unaware), core.Unavailable)
	}
}

// A migration that raises the floor waits for the transactions under way, so that
// none of them commits after it.
func TestRaisedFloorWaitsForTransitionsUnderWay(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	err := st.DB().Write(t.Context(), func(base.Tx, base.Moment) error {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(t.Context(), "set lock_timeout = '100ms'; "+raisedFloor); err == nil {
			t.Error("the floor was raised under a transition")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, dsn, raisedFloor)
	wantOutdated(t, "the next", st.DB().Write(t.Context(), func(base.Tx, base.Moment) error { return nil }), core.Unavailable)
}

func TestASchemaOfAnotherBuildIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	for _, change := range []string{"set digest = 'another'", "set digest = ''"} { // none: a build from before digests
		exec(t, dsn, "update belfry.migrations "+change)
		_, err := postgres.Open(t.Context(), dsn, postgres.Options{})
		wantCode(t, err, core.Conflict, "another build", "version 1", "belfry export")
		_, _, err = postgres.Migrate(t.Context(), dsn)
		wantCode(t, err, core.Conflict, "another build")
	}
}

func TestTablesWithoutAVersionAreRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	for _, change := range []string{"delete from belfry.migrations", "drop table belfry.migrations"} {
		exec(t, dsn, change)
		_, err := postgres.Open(t.Context(), dsn, postgres.Options{})
		wantCode(t, err, core.Conflict, "tables of Belfry", "belfry.migrations does not record", "backup")
	}
}

// Of two builds that start at one new database at the same time, the one whose migration waits for that of the other is refused.
func TestABuildThatWaitedForAnotherIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	other, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	exec(t, dsn, "create schema belfry")
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select pg_advisory_xact_lock(hashtextextended('belfry.migrations', 0))"); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { _, _, err := postgres.Migrate(t.Context(), dsn); migrated <- err }()
	for waits := false; !waits; {
		if err := tx.QueryRow(t.Context(), "select exists (select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database()))").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Exec(t.Context(), "create table belfry.migrations (version bigint primary key, at bigint not null default 0, digest text not null default '');"+
		"insert into belfry.migrations (version, digest) values (1, 'another')"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-migrated, core.Conflict, "another build", "version 1", "belfry export")
}
