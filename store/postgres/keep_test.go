package postgres_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
)

var parents = map[string]string{"jobs_done": "finished_at", "attempts": "ended_at", "logs": "at", "occurrences": "nominal"}

// oldDay makes the partitions of a day that lies back, with rows in them, as a
// node that ran then has left them.
func oldDay(t *testing.T, dsn string, back, rows int) string {
	t.Helper()
	from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -back)
	name, lo := from.Format("20060102"), from.UnixMicro()
	for parent := range parents {
		exec(t, dsn, fmt.Sprintf("create table if not exists belfry.%s_%s partition of belfry.%s for values from (%d) to (%d)", parent, name, parent, lo, from.AddDate(0, 0, 1).UnixMicro()))
	}
	fill(t, dsn, from.Add(time.Hour), rows)
	exec(t, dsn, "analyze belfry.jobs_done_"+name)
	return name
}

// fill writes finished jobs, attempts, logs and occurrences of an instant.
func fill(t *testing.T, dsn string, at time.Time, rows int) {
	t.Helper()
	us := at.UnixMicro()
	exec(t, dsn,
		fmt.Sprintf(`insert into belfry.jobs_done select %d + n, 'default', 0, 't', 'func', 'default', 0, 'succeeded', '', '', '', null, '', 'enqueue', '', 0, 0, 0, %d, %d, %d, 0, 1, 0, 0, 1, 1, 1, '', null, '', %d, null from generate_series(1, %d) as n`, us, us, us, us, us, rows),
		fmt.Sprintf(`insert into belfry.attempts select %d + n, 1, 1, '', '', %d, 0, %d, 'ok', '', null, '', 0 from generate_series(1, %d) as n`, us, us, us, rows),
		fmt.Sprintf(`insert into belfry.logs select %d + n, 1, 1, 0, 'log', %d, 1, '\x0078' from generate_series(1, %d) as n`, us, us, rows),
		fmt.Sprintf(`insert into belfry.occurrences select %d + n, %d, 0, 1, 'skipped', '', '', 0, %d, %d from generate_series(1, %d) as n`, us, us, us, us, rows))
}

func rollUp(t *testing.T, st *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = st.RollUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(t *testing.T, st *store.Store, table string) bool {
	t.Helper()
	return number(t, st, "select count(*) from pg_class where relnamespace = 'belfry'::regnamespace and relname = $1", table) == 1
}

func TestADayWithRunsThatWaitIsKept(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Age: 10 * 24 * time.Hour}}})
	day := oldDay(t, dsn, 12, 10)
	at := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -12).UnixMicro()
	exec(t, dsn, fmt.Sprintf(`insert into belfry.occurrences select 1, %[1]d + n, 0, 1, 'buffered', '', '', 0, %[1]d, %[1]d from generate_series(1, 2) as n`, at))
	rollUp(t, st)
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := number(t, st, "select count(*) from belfry.occurrences where decision = 'buffered'"); got != 2 {
		t.Errorf("%d runs wait, not 2", got)
	}
	if exists(t, st, "attempts_"+day) || !exists(t, st, "occurrences_"+day) {
		t.Error("another day was kept than that of the runs")
	}
	exec(t, dsn, `update belfry.occurrences set decision = 'job' where decision = 'buffered'`)
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(t, st, "occurrences_"+day) {
		t.Error("a day was kept whose runs have been made")
	}
}

// A schedule buffers a run of an old day after the pass has found none there, and commits while the pass waits for the table.
func TestADayThatGetsARunWhileItIsDroppedIsKept(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Age: 10 * 24 * time.Hour}}})
	day := oldDay(t, dsn, 12, 10)
	at := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -12).UnixMicro()
	rollUp(t, st)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), fmt.Sprintf(`insert into belfry.occurrences select 1, %[1]d, 0, 1, 'buffered', '', '', 0, %[1]d, %[1]d`, at))
	}
	if err != nil {
		t.Fatal(err)
	}
	pruned := make(chan error, 1)
	prune := func() {
		_, err := st.Prune(t.Context())
		pruned <- err
	}
	go prune()
	for waits := false; !waits; {
		select {
		case err := <-pruned: // it gave up on the table in use before its wait was seen
			if err != nil {
				t.Fatal(err)
			}
			go prune()
		default:
			waits = number(t, st, "select count(*) from pg_locks where not granted and relation = 'belfry.occurrences'::regclass") > 0
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-pruned; err != nil {
		t.Fatal(err)
	}
	if !exists(t, st, "occurrences_"+day) {
		t.Error("a day was dropped with a run that waits")
	}
}

func TestADayThatABackfillReachedIsKept(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Age: 10 * 24 * time.Hour}}})
	day := oldDay(t, dsn, 12, 10)
	at := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -12).UnixMicro()
	exec(t, dsn, fmt.Sprintf(`insert into belfry.occurrences select 1, %d, 0, 1, 'job', '', '', 7, %[1]d, %d`, at, time.Now().UnixMicro()))
	rollUp(t, st)
	for _, want := range []bool{true, false} {
		if _, err := st.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if exists(t, st, "occurrences_"+day) != want {
			t.Errorf("the day is there: %v", !want)
		}
		exec(t, dsn, fmt.Sprintf(`update belfry.occurrences set decided_at = %d where schedule_id = 1`, at))
	}
}

func TestDaysAreMadeAheadAndDroppedByAge(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Age: 10 * 24 * time.Hour}}})
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for parent := range parents {
		for ahead := -1; ahead <= 2; ahead++ { // a day less than there are, lest midnight come now
			if name := parent + "_" + today.AddDate(0, 0, ahead).Format("20060102"); !exists(t, st, name) {
				t.Errorf("%s was not prepared", name)
			}
		}
	}
	old, kept := oldDay(t, dsn, 12, 10), oldDay(t, dsn, 9, 10)
	fill(t, dsn, time.Now().AddDate(0, 0, -40), 7) // no day was prepared for these
	job := enqueue(t, st, "t")
	session := worker(t, st, "t")
	exec(t, dsn, fmt.Sprintf("update belfry.jobs set created_at = 1, due_at = 1 where id = %d", job), "update belfry.sessions set started_at = 1")
	rollUp(t, st)
	if _, err := st.SaveNamespace(t.Context(), access.Namespace{Name: "default", Quota: access.Quota{LogBytes: 1000}}); err != nil {
		t.Fatal(err)
	}
	used := func() int64 { return number(t, st, "select cast(sum(bytes) as bigint) from belfry.log_use") }
	if n := used(); n != 27 {
		t.Errorf("%d bytes of logs are counted before, want 27", n)
	}
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := used(); n != 10 {
		t.Errorf("%d bytes of logs are counted, want those of the day that is kept", n)
	}
	for parent := range parents {
		if exists(t, st, parent+"_"+old) {
			t.Errorf("%s_%s was not dropped", parent, old)
		}
		if !exists(t, st, parent+"_"+kept) {
			t.Errorf("%s_%s was dropped", parent, kept)
		}
		if n := number(t, st, "select count(*) from belfry."+parent); n != 10 {
			t.Errorf("%d rows of %s, want 10", n, parent)
		}
	}
	if n := number(t, st, "select count(*) from belfry.jobs") + number(t, st, "select count(*) from belfry.sessions where id = $1", session); n != 2 {
		t.Error("live jobs and living sessions must stay")
	}
}

func TestDaysAreDroppedByCount(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Jobs: 15}}})
	var names []string
	for back := 6; back >= 3; back-- {
		names = append(names, oldDay(t, dsn, back, 10))
	}
	rollUp(t, st)
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if got := exists(t, st, "jobs_done_"+name); got != (i >= 2) {
			t.Errorf("day %d is there: %v", i, got)
		}
	}
	if n := number(t, st, "select count(*) from belfry.jobs_done"); n != 20 {
		t.Errorf("%d jobs are left: the days that hold the newest 15 have 20", n)
	}
}

// Days that are dropped by count lose neither attempts nor logs of jobs that live, or that ended later. Their age ends those too.
func TestDaysDroppedByCountKeepTheLogsOfJobsThatStay(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	keep := store.Options{Keep: store.Keep{Jobs: 15, Age: 10 * 24 * time.Hour}}
	st := openAt(t, dsn, postgres.Options{Options: keep})
	var names []string
	for back := 6; back >= 3; back-- {
		names = append(names, oldDay(t, dsn, back, 10))
	}
	live := enqueue(t, st, "t")
	from := func(back int) time.Time { return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -back) }
	late := from(4).Add(time.Hour).UnixMicro() + 1 // a job that ended on a day that is kept
	exec(t, dsn, fmt.Sprintf("update belfry.jobs set created_at = %d where id = %d", from(6).UnixMicro(), live), fmt.Sprintf("update belfry.jobs_done set created_at = %d where id = %d", from(6).UnixMicro(), late))
	for _, id := range []int64{live, late} {
		for back := 6; back >= 3; back-- {
			at := from(back).Add(2 * time.Hour).UnixMicro()
			exec(t, dsn,
				fmt.Sprintf(`insert into belfry.attempts values (%d, 1, %d, '', '', %d, 0, %[3]d, 'snoozed', '', null, '', 0)`, id, back, at),
				fmt.Sprintf(`insert into belfry.logs values (%d, 1, 1, %d, 'log', %d, 1, '\x0078')`, id, back, at))
		}
	}
	counted := func() {
		t.Helper()
		for _, q := range []access.Quota{{}, {LogBytes: 1000}} { // a quota that begins counts what is there
			if _, err := st.SaveNamespace(t.Context(), access.Namespace{Name: "default", Quota: q}); err != nil {
				t.Fatal(err)
			}
		}
	}
	counted()
	rollUp(t, st)
	expect := func(liveRows, lateRows, rest int64) {
		t.Helper()
		for range 2 {
			if _, err := st.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, parent := range []string{"attempts", "logs"} {
				of := func(id int64) int64 {
					return number(t, st, "select count(*) from belfry."+parent+" where job_id = $1", id)
				}
				if got, ended, all := of(live), of(late), number(t, st, "select count(*) from belfry."+parent+"_rest"); got != liveRows || ended != lateRows || all != rest {
					t.Errorf("%s: %d rows of the live job, %d of the one that ended, %d in the rest; want %d, %d, %d", parent, got, ended, all, liveRows, lateRows, rest)
				}
			}
			if counted, there := number(t, st, "select cast(sum(bytes) as bigint) from belfry.log_use"), number(t, st, "select sum(size) from belfry.logs"); counted != there {
				t.Errorf("%d bytes of logs are counted, and %d are there", counted, there)
			}
		}
	}
	expect(4, 5, 4) // the one that ended has a row of fill, too
	for i, name := range names {
		for _, parent := range []string{"attempts", "logs"} {
			if got := exists(t, st, parent+"_"+name); got != (i >= 2) {
				t.Errorf("day %d of %s is there: %v", i, parent, got)
			}
		}
	}
	oldDay(t, dsn, 2, 10)
	counted()
	exec(t, dsn, fmt.Sprintf("delete from belfry.jobs_done where id = %d", late))
	rollUp(t, st)
	expect(4, 1, 3) // the days before the last two go
	keep.Keep.Age = 5 * 24 * time.Hour
	st = openAt(t, dsn, postgres.Options{Options: keep})
	rollUp(t, st)
	expect(3, 1, 2)
}

func TestRowsThatCameBeforeTheirDayAreTakenAlong(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	today := time.Now().UTC().Format("20060102")
	for parent := range parents {
		exec(t, dsn, "drop table belfry."+parent+"_"+today)
	}
	fill(t, dsn, time.Now(), 5)
	rollUp(t, st)
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	for parent := range parents {
		if n := number(t, st, "select count(*) from belfry."+parent+"_"+today); n != 5 {
			t.Errorf("%d of 5 rows of %s are in their day", n, parent)
		}
	}
}

// A day is made while somebody reads the table beside it: those who come later
// would stand behind the change, so it gives up, and is made with the next pass.
func TestADayThatIsHeldUpIsMadeLater(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	var log strings.Builder
	o := postgres.Options{Options: store.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	st := openAt(t, dsn, o)
	coming := time.Now().UTC().AddDate(0, 0, 2).Format("20060102")
	exec(t, dsn, "drop table belfry.jobs_done_"+coming, "drop table belfry.attempts_"+coming)

	reader, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(context.Background()) })
	if _, err := reader.Exec(t.Context(), "begin; select from belfry.jobs_done_rest"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(t, st, "jobs_done_"+coming) || !exists(t, st, "attempts_"+coming) {
		t.Error("want the day of attempts alone")
	}
	if !strings.Contains(log.String(), `msg="days of history could not be prepared yet"`) {
		t.Errorf("the log says %q", log.String())
	}
	if _, _, err := postgres.Migrate(t.Context(), dsn); core.CodeOf(err) != core.Unavailable {
		t.Errorf("who asks for nothing else is told %v", err)
	}

	if _, err := reader.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !exists(t, st, "jobs_done_"+coming) {
		t.Error("the day was not made")
	}
}

// A node that freezes in a transaction keeps its locks and its snapshot, so there is
// none without a bound.
func TestNoTransactionIsWithoutABound(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	bound := func(tx base.Tx, want string) error {
		rows, err := tx.Query(t.Context(), "select current_setting('idle_in_transaction_session_timeout')")
		if err != nil {
			return err
		}
		defer rows.Close()
		var got string
		if rows.Next() {
			err = rows.Scan(&got)
		}
		if got != want {
			t.Errorf("bound of a transaction: got %q, want %q", got, want)
		}
		return cmp.Or(err, rows.Err())
	}
	if err := st.DB().Read(t.Context(), func(tx base.Tx) error { return bound(tx, "1min") }); err != nil {
		t.Fatal(err)
	}
	if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error { return bound(tx, "5s") }); err != nil {
		t.Fatal(err)
	}

	coming := time.Now().UTC().AddDate(0, 0, 2).Format("20060102")
	oldDay(t, dsn, 100, 1)
	rollUp(t, st)
	exec(t, dsn, "drop table belfry.jobs_done_"+coming, "create table bounds (idle text, locks text)", `
		create function note() returns event_trigger language plpgsql as $$
		begin
			insert into bounds values (current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout'));
		end $$`, "create event trigger note on ddl_command_start execute function note()")
	if _, err := st.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, st, "select count(*) from bounds where idle = '5s' and locks = '2s'"); int(n) < 2+len(parents) { // a day is made with two statements, and dropped with one
		t.Errorf("%d changes of the schema have their bounds", n)
	}
	if n := number(t, st, "select count(*) from bounds where idle <> '5s' or locks <> '2s'"); n > 0 {
		t.Errorf("%d changes of the schema have none", n)
	}
}

// A node runs with the rights to read and write alone, after another role has migrated: rows of days that it may not create are
// removed one by one.
func TestANodeThatOwnsNoTables(t *testing.T) {
	t.Parallel()
	server, dsn := narrow(t)
	if _, _, err := postgres.Migrate(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	coming := "logs_" + time.Now().UTC().AddDate(0, 0, 2).Format("20060102")
	exec(t, server.URL("postgres"), "drop table belfry."+coming, "revoke create on database postgres from narrow", "grant usage on schema belfry to narrow",
		"grant select, insert, update, delete on all tables in schema belfry to narrow", "grant usage, select on all sequences in schema belfry to narrow")
	var log strings.Builder
	st := openAt(t, dsn, postgres.Options{Options: store.Options{Keep: store.Keep{Age: 10 * 24 * time.Hour}, Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	fill(t, dsn, time.Now().AddDate(0, 0, -40), 7)
	rollUp(t, st)
	if more, err := st.Prune(t.Context()); err != nil || more {
		t.Fatal(more, err)
	}
	for parent := range parents {
		if n := number(t, st, "select count(*) from belfry."+parent); n != 0 {
			t.Errorf("%d rows of %s are left", n, parent)
		}
	}
	if exists(t, st, coming) || !strings.Contains(log.String(), `msg="the role may not prepare days of history, so their rows are removed one by one" table=logs`) {
		t.Errorf("the missing day is there, or the log does not say why it is not: %s", log.String())
	}
}
