package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
)

// filled is a file with some of everything, and the log of what came last.
func filled(t *testing.T) (database, log []byte) {
	t.Helper()
	path := file(t)
	clock := storetest.NewClock()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Clock: clock.Now}})
	if err != nil {
		t.Fatal(err)
	}
	history(t, st, clock, 12)
	for i := range 120 {
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Key: fmt.Sprint(i), Input: []byte(fmt.Sprintf("%q", strings.Repeat("z", 10*i)))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.DB().(*sqlite.DB).SQL().Exec("pragma wal_checkpoint(truncate)"); err != nil {
		t.Fatal(err)
	}
	if database, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := st.CreateTask(t.Context(), task.Task{Name: fmt.Sprint("n", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return database, log
}

func flip(data []byte, rng *rand.Rand) []byte {
	data = bytes.Clone(data)
	at := rng.IntN(len(data))
	if rng.IntN(3) > 0 {
		data[at] ^= 1 << rng.IntN(8)
		return data
	}
	for i := at / 512 * 512; i < min(len(data), at/512*512+512); i++ {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// served opens a file and answers what a store says of it: all rows, in the order
// of its indexes.
func served(t *testing.T, database, log []byte) (rows string, st *store.Store, err error) {
	t.Helper()
	path := file(t)
	if err := errors.Join(os.WriteFile(path, database, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
		t.Fatal(err)
	}
	clock := storetest.NewClock()
	st, err = sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: "NORMAL", Look: true, Options: store.Options{Clock: clock.Now}})
	if err != nil {
		return "", nil, err
	}
	for _, query := range []string{
		`select group_concat(id || name || doc, char(10)) from (select * from belfry.tasks order by namespace, name)`,
		`select group_concat(id || task || state || coalesce(input, ''), char(10)) from (select * from belfry.jobs order by id)`,
		`select group_concat(name || job_id, char(10)) from (select * from belfry.job_keys order by namespace, name)`,
		`select group_concat(id || task || state, char(10)) from (select * from belfry.jobs_done order by finished_at, id)`,
		`select group_concat(nominal || decision || job_id, char(10)) from (select * from belfry.occurrences order by schedule_id, nominal)`,
	} {
		part, err := textOf(t.Context(), st.DB(), strings.Replace(query, "select group_concat(", "select '' || group_concat(", 1))
		if err != nil {
			return rows, st, err
		}
		rows += part + "\n"
	}
	return rows, st, nil
}

// Of each flip the store serves what was there, or says that the file is damaged, or
// SQLite itself finds nothing: pages have no checksums.
func TestADamagedFileIsSaidAndNotServed(t *testing.T) {
	database, log := filled(t)
	right, st, err := served(t, database, nil)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	said, sound, byDoctor, unseen := 0, 0, 0, 0
	for seed := range uint64(80) {
		rows, st, err := served(t, flip(database, rand.New(rand.NewPCG(seed, 1))), nil)
		if err == nil {
			switch _, looked := st.DatabaseHealth(t.Context()); {
			case looked != nil:
				err = looked
				byDoctor++
			case rows != right:
				if is, checked := textOf(t.Context(), st.DB(), "pragma integrity_check(1)"); is != "ok" || checked != nil {
					t.Errorf("flip %d: other rows are served, and SQLite says %s, %v", seed, is, checked)
				}
				unseen++
			default:
				sound++
			}
		}
		if err != nil {
			said++
			if !errors.Is(err, core.ErrDamaged) || !strings.Contains(err.Error(), "belfry.db") || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("flip %d: the error does not say it: %v", seed, err)
			}
		}
		if st != nil {
			_ = st.Close()
		}
	}
	t.Logf("of 80 flips %d were said (%d by an inspection), %d were served right, %d are in a value, where SQLite has no checksum", said, byDoctor, sound, unseen)
	if said == 0 || sound == 0 {
		t.Errorf("%d said, %d sound", said, sound)
	}
	ended := 0
	for seed := range uint64(20) {
		rows, st, err := served(t, database, flip(log, rand.New(rand.NewPCG(seed, 2))))
		if err != nil {
			t.Errorf("flip %d of the log: %v", seed, err)
			continue
		}
		tasks, _, _ := strings.Cut(rows, "\n\n")
		gone := -1
		for i := range 20 {
			there := strings.Contains(tasks, fmt.Sprintf("%q", fmt.Sprint("n", i)))
			if !there && gone < 0 {
				gone = i
			}
			if there && gone >= 0 {
				t.Errorf("flip %d of the log: task n%d is lost, and the later n%d is there", seed, gone, i)
			}
		}
		if gone >= 0 {
			ended++
		}
		if is, err := textOf(t.Context(), st.DB(), "pragma integrity_check(1)"); is != "ok" || err != nil {
			t.Errorf("flip %d of the log: %s, %v", seed, is, err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("of 20 flips of the log, %d ended it early", ended)
}

// Damage that shows while a store is open ends its service: it claims no more.
func TestDamageEndsTheServiceOfAStore(t *testing.T) {
	path := file(t)
	database, _ := filled(t)
	if err := os.WriteFile(path, database, 0o600); err != nil {
		t.Fatal(err)
	}
	st := openAt(t, path, sqlite.Options{})
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.DB().(*sqlite.DB).SQL().Exec("pragma wal_checkpoint(truncate)"); err != nil {
		t.Fatal(err)
	}
	if err := st.Alive(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := len(database)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, size-8192), 8192)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	err = st.DB().Read(t.Context(), func(tx base.Tx) error {
		var all string
		return scanText(t.Context(), tx, "select '' || group_concat(input) from belfry.jobs", &all)
	})
	for what, err := range map[string]error{
		"a read": err, "alive": st.Alive(t.Context()),
		"a claim": func() error {
			_, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
			return err
		}(),
		"a look":    func() error { _, err := st.DatabaseHealth(t.Context()); return err }(),
		"a new job": func() error { _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); return err }(),
	} {
		if wantCode(t, err, core.Unavailable, filepath.Base(path), "damaged", "restore a backup"); !errors.Is(err, core.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A damaged definition of a table is told from a wrong statement.
func TestADamagedDefinitionIsSaid(t *testing.T) {
	path := file(t)
	database, _ := filled(t)
	column := []byte("next_at integer not null default 0, -- of a rate")
	if n := bytes.Count(database, column); n != 1 {
		t.Fatalf("%q is %d times in the file", column, n)
	}
	for _, damaged := range []bool{true, false} {
		at := database
		if damaged {
			at = bytes.Replace(database, column, bytes.Replace(column, []byte("_"), []byte("$"), 1), 1)
		}
		if err := os.WriteFile(path, at, 0o600); err != nil {
			t.Fatal(err)
		}
		st := openAt(t, path, sqlite.Options{Look: true})
		_, err := textOf(t.Context(), st.DB(), "select '' || count(next_at) from belfry.limit_keys")
		if damaged {
			wantCode(t, err, core.Unavailable, filepath.Base(path), "damaged", "restore a backup")
			if e := new(core.Error); !errors.As(err, &e) || !errors.Is(err, core.ErrDamaged) || !strings.Contains(e.Err.Error(), "limit_keys was altered") {
				t.Error(err)
			}
		} else if err != nil {
			t.Error(err)
		}
		if _, err := textOf(t.Context(), st.DB(), "select nothing from belfry.limit_keys"); errors.Is(err, core.ErrDamaged) != damaged {
			t.Errorf("a wrong statement: %v", err)
		}
		_ = st.Close()
	}
}
