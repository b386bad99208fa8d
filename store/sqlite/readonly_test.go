package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// A file that takes no writes is named as such, by the error and by the health of the node, and needs no restart when it takes
// them again.
func TestAFileThatTakesNoWritesIsNamedAndRecovers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(dir, "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // of a test
	write := func(name string) error {
		_, err := st.CreateTask(t.Context(), task.Task{Name: name})
		return err
	}
	wantHealth := func(detail string) {
		t.Helper()
		h, err := st.Health(t.Context())
		if room := h.Room(); err != nil || room.OK || room.Detail != detail {
			t.Errorf("%+v %v", room, err)
		}
	}
	if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(context.Background(), "pragma query_only = 1") // as SQLite opens a file that it may not write
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, write("a"), core.Unavailable, "the database takes no writes: its file or its disk is read-only", "mount its disk for writing")
	wantHealth("it takes no writes: its file or its disk is read-only")
	if err := os.Rename(dir, dir+".away"); err != nil { // the writer opens the file anew after an error
		t.Fatal(err)
	}
	wantCode(t, write("a"), core.Unavailable, "cannot be read or written", "check the disk")
	wantHealth("its disk fails, and writes are refused")
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if err := write("a"); err != nil {
		t.Error("writable again:", err)
	}
}
