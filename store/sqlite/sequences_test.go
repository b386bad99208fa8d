package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// take draws ids as a transition does.
func take(t *testing.T, st *store.Store, n int, fail error) (ids []int64) {
	t.Helper()
	err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) (err error) {
		ids, err = st.DB().Dialect().NextIDs(t.Context(), tx, "job", n)
		return errors.Join(err, fail)
	})
	if !errors.Is(err, fail) {
		t.Fatal(err)
	}
	return ids
}

func TestIDsGoUpWithoutGaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belfry.db")
	st := openAt(t, path, sqlite.Options{})
	next := int64(1)
	expect := func(what string, got []int64) {
		t.Helper()
		for _, id := range got {
			if id != next {
				t.Fatalf("%s: %v, and %d was next", what, got, next)
			}
			next++
		}
	}
	expect("one", take(t, st, 1, nil))
	expect("none", take(t, st, 0, nil))
	expect("many", take(t, st, 100, nil))
	expect("few", take(t, st, 5, nil))
	take(t, st, 50, errors.New("refused"))
	expect("after what was taken back", take(t, st, 2, nil))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = openAt(t, path, sqlite.Options{})
	expect("after the file was closed", take(t, st, 3, nil))

	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	tx, err := st.DB().(*sqlite.DB).SQL().Begin()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Fatal(err)
	}
	expect("in somebody else's transaction", []int64{foreign[0].Job.ID})
	expect("after somebody else's", take(t, st, 3, nil))
}

func TestIDsAreGivenOutOnceInAGroup(t *testing.T) {
	st := grouped(t)
	take(t, st, 1, nil)
	refused := errors.New("refused")
	var given []int64
	draws := func(fail error) transition {
		return func(tx base.Tx, at base.Moment) error {
			ids, err := st.DB().Dialect().NextIDs(t.Context(), tx, "job", 1)
			if fail == nil {
				given = append(given, ids...)
			}
			return errors.Join(err, insert(int(ids[0]))(tx, at), fail)
		}
	}
	begins := func(base.Tx, base.Moment) error { given = nil; return nil } // anew, with savepoints
	if errs := inOneGroup(t, st.DB(), begins, draws(nil), draws(refused), draws(nil)); errors.Join(errs...) == nil {
		t.Error("nobody was refused")
	}
	if want := []int64{2, 3}; !slices.Equal(given, want) {
		t.Errorf("%v were given out, want %v", given, want)
	}
}
