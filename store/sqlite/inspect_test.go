package sqlite_test

import (
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestDatabaseHealthOfAFile(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now})
	history(t, st, clock, 5)
	d, err := st.DatabaseHealth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := d.File
	if f == nil || f.PageSize != 4096 || f.Pages < 10 || f.Journal != "wal" || f.Synchronous != "NORMAL" || f.WAL <= 0 || d.Size != f.Pages*f.PageSize+f.WAL {
		t.Errorf("%+v", f)
	}
	if d.Transaction != nil || d.Most != 0 || d.Slots != nil {
		t.Errorf("a file has no server: %+v", d)
	}
	for _, table := range d.Tables {
		if want := map[string]int64{"belfry_jobs_done": 4, "belfry_attempts": 4, "belfry_logs": 5, "belfry_schedules": 1}; want[table.Name] > 0 && table.Rows != want[table.Name] {
			t.Errorf("%s has %d rows, not %d", table.Name, want[table.Name], table.Rows)
		}
	}
}
