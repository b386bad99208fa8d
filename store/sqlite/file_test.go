package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// secondEnv makes this test binary a second process that opens a file.
const secondEnv = "BELFRY_TEST_SECOND"

func second(path string) int {
	st, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		fmt.Println("opened")
		_ = st.Close()
		return 0
	}
	fmt.Println(core.CodeOf(err), err)
	return 1
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "belfry.db") }

func wantCode(t *testing.T, err error, code core.Code, words ...string) {
	t.Helper()
	if core.CodeOf(err) != code {
		t.Fatalf("error %v has code %q, want %q", err, core.CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("error %q does not say %q", err, w)
		}
	}
}

func read(t *testing.T, st *store.Store, query string) (v string) {
	t.Helper()
	if err := st.DB().Read(t.Context(), func(tx base.Tx) error { return scanText(t.Context(), tx, query, &v) }); err != nil {
		t.Fatal(err)
	}
	return v
}

func scanText(ctx context.Context, tx base.Tx, query string, to *string) error {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to); err != nil {
			return err
		}
	}
	return rows.Err()
}

func TestSecondOpenIsRefused(t *testing.T) {
	path := file(t)
	st := openAt(t, path, sqlite.Options{})
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	wantCode(t, err, core.Conflict, path, "--server")
	_, _, err = sqlite.Migrate(t.Context(), path)
	wantCode(t, err, core.Conflict, path)
	other := func() (string, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), secondEnv+"="+path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := other()
	if err == nil || !strings.Contains(out, "conflict") || !strings.Contains(out, "another process, or another store") {
		t.Fatalf("a second process: %v %s", err, out)
	}
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := other(); err != nil || !strings.Contains(out, "opened") {
		t.Fatalf("after the first has closed: %v %s", err, out)
	}
}

func TestSecondOpenThroughALinkIsRefused(t *testing.T) {
	path := file(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{link, path}, {path, link}} { // the first makes the file
		st := openAt(t, c[0], sqlite.Options{})
		_, err := sqlite.Open(t.Context(), c[1], sqlite.Options{})
		wantCode(t, err, core.Conflict, path)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := filepath.Glob(link + "?*"); err != nil || len(left) > 0 {
		t.Errorf("files beside the link: %v %v", left, err)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := file(t)
	st := openAt(t, path, sqlite.Options{})
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v", path+suffix, mode)
		}
	}
}

func TestCommitsSurviveAPowerCut(t *testing.T) {
	for o, want := range map[string]string{"": "2", "full": "2", "NORMAL": "1", "EXTRA": "3"} {
		st := openAt(t, file(t), sqlite.Options{Synchronous: o})
		var got, journal string
		err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
			return errors.Join(scanText(t.Context(), tx, "pragma synchronous", &got), scanText(t.Context(), tx, "pragma journal_mode", &journal))
		})
		if err != nil || got != want || journal != "wal" {
			t.Errorf("synchronous %q: the writer has %s in %s, want %s: %v", o, got, journal, want, err)
		}
		if o != "" {
			continue
		}
		if err := st.DB().(*sqlite.DB).SQL().QueryRow("pragma synchronous").Scan(&got); err != nil || got != want {
			t.Errorf("a user's connection has %s, want %s: %v", got, want, err)
		}
	}
	_, err := sqlite.Open(t.Context(), file(t), sqlite.Options{Synchronous: "OFF"})
	wantCode(t, err, core.Invalid, "synchronous", "OFF")
}

func TestExpandedSchemaIsUsedByOlderPrograms(t *testing.T) {
	path := newerSchema(t, 1)
	if _, _, err := sqlite.Migrate(t.Context(), path); err != nil {
		t.Error(err)
	}
	h, err := openAt(t, path, sqlite.Options{}).Health(t.Context())
	if err != nil || h.SchemaVersion != 999 || !h.Schema().Check().OK {
		t.Errorf("%+v, %v", h, err)
	}
}

// newerSchema is a file that a newer program has migrated.
func newerSchema(t *testing.T, floor int64) (path string) {
	t.Helper()
	path = file(t)
	st := openAt(t, path, sqlite.Options{})
	err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), "insert into belfry.migrations (version) values (999)")
		if err == nil {
			_, err = tx.Exec(t.Context(), "update belfry.schema_floor set version = $1", floor)
		}
		return err
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewerSchemaIsRefusedAndLeftAlone(t *testing.T) {
	path := newerSchema(t, 999)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	wantCode(t, err, core.Conflict, "999", "newer one")
	_, _, err = sqlite.Migrate(t.Context(), path)
	wantCode(t, err, core.Conflict, "999")
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Fatalf("the file changed: %v", err)
	}
}

func TestOlderSchemaIsMigratedOrRefusedWhenKept(t *testing.T) {
	path := file(t)
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true})
	wantCode(t, err, core.Conflict, "version 0", "belfry migrate")
	from, to, err := sqlite.Migrate(t.Context(), path)
	if err != nil || from != 0 || to == 0 {
		t.Fatal(from, to, err)
	}
	if from, again, err := sqlite.Migrate(t.Context(), path); err != nil || from != to || again != to {
		t.Fatal(from, again, err)
	}
	h, err := openAt(t, path, sqlite.Options{KeepSchema: true}).Health(t.Context())
	if err != nil || h.SchemaVersion != to || h.SchemaWanted != to {
		t.Fatal(h, err)
	}
}

func TestBadFilesAreRefusedWithTheWayOut(t *testing.T) {
	text := file(t)
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), text, sqlite.Options{})
	if err == nil || core.CodeOf(err) == core.Internal {
		t.Errorf("a text file: %v", err)
	}
	_, err = sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	if err == nil || core.CodeOf(err) == core.Internal {
		t.Errorf("a folder: %v", err)
	}
	odd := filepath.Join(t.TempDir(), "a b#c?d%20e", "f&g.db")
	st := openAt(t, odd, sqlite.Options{})
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Error("an odd name is not used as it is:", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestCloseWaitsForRunningTransactions(t *testing.T) {
	path := file(t)
	st := openAt(t, path, sqlite.Options{})
	began, goOn := make(chan struct{}), make(chan struct{})
	var wrote atomic.Bool
	var all sync.WaitGroup
	results := make([]error, 21)
	all.Go(func() {
		results[20] = st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
			close(began)
			<-goOn
			wrote.Store(true)
			_, err := tx.Exec(t.Context(), "create table under_way (n integer)")
			return err
		})
	})
	<-began
	closed := make(chan error)
	go func() { closed <- st.Close() }()
	for i := range 20 { // while it closes
		all.Go(func() { _, results[i] = st.CreateTask(t.Context(), task.Task{Name: fmt.Sprint("t", i)}) })
	}
	close(goOn)
	if err := <-closed; err != nil || !wrote.Load() {
		t.Fatal(err, wrote.Load())
	}
	all.Wait()
	if results[20] != nil {
		t.Fatal(results[20])
	}
	done := 0
	for _, err := range results[:20] {
		if err == nil {
			done++
		} else {
			wantCode(t, err, core.Unavailable, "closed")
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal("closing again:", err)
	}
	_, err := st.CreateTask(t.Context(), task.Task{Name: "late"})
	wantCode(t, err, core.Unavailable, "closed")
	_, err = st.Task(t.Context(), "default", "t0")
	wantCode(t, err, core.Unavailable, "closed")
	st = openAt(t, path, sqlite.Options{})
	if n := read(t, st, "select count(*) from belfry.tasks"); n != fmt.Sprint(done) {
		t.Fatalf("%s tasks are there, %d were answered", n, done)
	}
}

func TestCanceledContextIsAnAnswerAndNoHarm(t *testing.T) {
	st := openAt(t, file(t), sqlite.Options{Synchronous: "NORMAL"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := st.CreateTask(ctx, task.Task{Name: "t"})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
}

// write changes a file that no store has open.
func write(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), query)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestASchemaOfAnotherBuildIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	if err := openAt(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"set digest = 'another'", "set digest = ''"} { // none: a build from before digests
		write(t, path, "update belfry_migrations "+change)
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wantCode(t, err, core.Conflict, "another build", "version 1", "belfry export")
		_, _, err = sqlite.Migrate(t.Context(), path)
		wantCode(t, err, core.Conflict, "another build")
	}
	write(t, path, "alter table belfry_migrations drop column digest")
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	wantCode(t, err, core.Conflict, "another build")
}

func TestTablesWithoutAVersionAreRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	if err := openAt(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"delete from belfry_migrations", "drop table belfry_migrations"} {
		write(t, path, change)
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wantCode(t, err, core.Conflict, "tables of Belfry", "belfry_migrations does not record", "backup")
	}
}
