package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

type transition = func(tx base.Tx, at base.Moment) error

// inOneGroup runs transitions so that they share a commit: they arrive while
// the writer is held up by another.
func inOneGroup(t *testing.T, db base.DB, fns ...transition) []error {
	t.Helper()
	began, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = db.Write(t.Context(), func(base.Tx, base.Moment) error {
			close(began)
			<-goOn
			return nil
		})
	})
	<-began
	errs := make([]error, len(fns))
	for i, fn := range fns {
		all.Go(func() { errs[i] = db.Write(t.Context(), fn) })
		for sqlite.Waiting(db) <= i { // so that they stand in their order
			time.Sleep(time.Microsecond)
		}
	}
	close(goOn)
	all.Wait()
	return errs
}

func insert(n int) transition {
	return func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(context.Background(), "insert into things (n) values ($1)", n)
		return err
	}
}

func grouped(t *testing.T) *store.Store {
	t.Helper()
	st := openAt(t, file(t), sqlite.Options{Synchronous: "NORMAL"})
	if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), "create table things (n integer unique, data text)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return st
}

func things(t *testing.T, st *store.Store) string {
	t.Helper()
	return read(t, st, "select coalesce(group_concat(n, ' '), '') from (select n from things order by n)")
}

func TestGroupSharesOneCommitAndOneInstant(t *testing.T) {
	st := grouped(t)
	var mu sync.Mutex
	instants := map[time.Time]int{}
	var fns []transition
	for i := range 50 {
		fns = append(fns, func(tx base.Tx, at base.Moment) error {
			mu.Lock()
			instants[at.Now]++
			mu.Unlock()
			return insert(i)(tx, at)
		})
	}
	for _, err := range inOneGroup(t, st.DB(), fns...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(instants) != 1 {
		t.Errorf("%d instants: they were not one group", len(instants))
	}
	if n := read(t, st, "select count(*) from things"); n != "50" {
		t.Errorf("%s rows", n)
	}
}

func TestOneFailingTransitionFailsAlone(t *testing.T) {
	st := grouped(t)
	broken := errors.New("broken")
	errs := inOneGroup(t, st.DB(),
		insert(1),
		func(tx base.Tx, at base.Moment) error { return errors.Join(insert(2)(tx, at), broken) },
		insert(3),
		func(tx base.Tx, at base.Moment) error { return errors.Join(insert(4)(tx, at), insert(1)(tx, at)) }, // not unique
		func(tx base.Tx, at base.Moment) error { _ = insert(5)(tx, at); panic("oh") },
		func(tx base.Tx, _ base.Moment) error {
			_, err := tx.Exec(context.Background(), "this is no SQL")
			return err
		},
		insert(6),
	)
	for i, want := range []string{"", "broken", "", "UNIQUE", "panicked: oh", "syntax error", ""} {
		if got := fmt.Sprint(errs[i]); want == "" && errs[i] != nil || !strings.Contains(got, want) {
			t.Errorf("transition %d: %s, want %q", i, got, want)
		}
	}
	if got := things(t, st); got != "1 3 6" {
		t.Errorf("things %s", got)
	}
	if err := st.DB().Write(t.Context(), insert(7)); err != nil {
		t.Error("afterwards:", err)
	}
}

func TestAFullDiskFailsOnlyTheTransactionThatFillsIt(t *testing.T) {
	st := grouped(t)
	limit := func(pages string) {
		t.Helper()
		if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
			var got string
			return scanText(t.Context(), tx, "pragma max_page_count = "+pages, &got)
		}); err != nil {
			t.Fatal(err)
		}
	}
	pages := read(t, st, "pragma page_count")
	limit(pages)
	fill := func(tx base.Tx, at base.Moment) error {
		var got string // a connection that is new has no limit
		if err := scanText(t.Context(), tx, "pragma max_page_count = "+pages, &got); err != nil {
			return err
		}
		if err := insert(2)(tx, at); err != nil {
			return err
		}
		_, err := tx.Exec(context.Background(), "insert into things (n, data) values (100, $1)", strings.Repeat("x", 1<<20))
		return err
	}
	errs := inOneGroup(t, st.DB(), insert(1), fill, insert(3))
	if errs[0] != nil || errs[2] != nil {
		t.Error(errs)
	}
	wantCode(t, errs[1], core.Unavailable, "full", "make room")
	wantCode(t, st.DB().Write(t.Context(), fill), core.Unavailable, "full")
	if got := things(t, st); got != "1 3" {
		t.Errorf("things %s", got)
	}
	pages = "1000000"
	limit(pages)
	if err := st.DB().Write(t.Context(), fill); err != nil {
		t.Error("with room again:", err)
	}
	if got := things(t, st); got != "1 2 3 100" {
		t.Errorf("things %s", got)
	}
}

// A transition may say that it went well although a statement of it took the
// whole transaction back.
func TestALostTransactionFailsAloneInItsGroup(t *testing.T) {
	st := grouped(t)
	gone := func(tx base.Tx, at base.Moment) error {
		_ = insert(2)(tx, at)
		_, _ = tx.Exec(context.Background(), "insert or rollback into things (n) values (2)")
		return nil
	}
	errs := inOneGroup(t, st.DB(), insert(1), gone, insert(3))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Error(errs)
	}
	if got := things(t, st); got != "1 3" {
		t.Errorf("things %s", got)
	}
}

func TestUsersTransactionHoldsWritersUpAndNoReader(t *testing.T) {
	st := grouped(t)
	tx, err := st.DB().(*sqlite.DB).SQL().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("insert into things (n) values (1)"); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error)
	go func() { wrote <- st.DB().Write(t.Context(), insert(2)) }()
	if got := things(t, st); got != "" {
		t.Errorf("a reader sees %q", got)
	}
	select {
	case err := <-wrote:
		t.Fatal("wrote beside an open transaction", err)
	default:
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if got := things(t, st); got != "1 2" {
		t.Errorf("things %s", got)
	}
}
