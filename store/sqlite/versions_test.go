package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// version is the number of a table for a transition that does nothing.
func version(t *testing.T, db base.DB, table string) (v int64) {
	t.Helper()
	if err := db.Write(t.Context(), func(_ base.Tx, at base.Moment) error {
		v = at.Version(table)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersionStaysWithoutWritesToATable(t *testing.T) {
	st := grouped(t)
	before := version(t, st.DB(), "queues")
	if err := st.DB().Write(t.Context(), insert(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.DB().(*sqlite.DB).SQL().Exec(named("select * from belfry.queues")); err != nil {
		t.Fatal(err)
	}
	if now := version(t, st.DB(), "queues"); now != before {
		t.Errorf("it went from %d to %d", before, now)
	}
}

func TestVersionMovesWithATable(t *testing.T) {
	st := grouped(t)
	pause := func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), "update belfry.queues set paused_at = paused_at + 1")
		return err
	}
	refused := errors.New("refused")
	for name, write := range map[string]func(){
		"by a transition": func() { _ = st.DB().Write(t.Context(), pause) },
		"by a transition that answers": func() {
			_ = st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
				rows, err := tx.Query(t.Context(), "update belfry.queues set paused_at = paused_at + 1 returning name")
				if err == nil {
					rows.Close()
				}
				return err
			})
		},
		"within the transition": func() {
			_ = st.DB().Write(t.Context(), func(tx base.Tx, at base.Moment) error {
				before := at.Version("queues")
				err := pause(tx, at)
				if at.Version("queues") == before {
					t.Error("the transition itself does not see it")
				}
				return err
			})
		},
		"by a transaction of somebody else": func() {
			if _, err := st.DB().(*sqlite.DB).SQL().Exec(named("update belfry.queues set paused_at = paused_at + 100")); err != nil {
				t.Error(err)
			}
		},
		"by one beside others": func() { inOneGroup(t, st.DB(), insert(10), pause, insert(11)) },
	} {
		before := version(t, st.DB(), "queues")
		write()
		if now := version(t, st.DB(), "queues"); now == before {
			t.Errorf("%s: it is %d as before", name, now)
		}
	}

	// What was seen of what is taken back has a number of its own, alone, in a
	// savepoint and where all begin anew.
	var seen []int64
	fails := func(tx base.Tx, at base.Moment) error {
		err := pause(tx, at)
		seen = append(seen, at.Version("queues"))
		return errors.Join(refused, err)
	}
	if err := st.DB().Write(t.Context(), fails); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	inOneGroup(t, st.DB(), insert(20), fails, insert(21))
	if now := version(t, st.DB(), "queues"); len(seen) != 3 || slices.Contains(seen, now) {
		t.Errorf("after what was taken back, seen as %v, it is %d", seen, now)
	}
}

func TestClaimsSeeWritesOfOtherProcesses(t *testing.T) {
	st := openAt(t, file(t), sqlite.Options{})
	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	if err != nil {
		t.Fatal(err)
	}
	claimed := func() (string, error) {
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
			return "", err
		}
		c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
		if len(c.Jobs) == 0 {
			return "nothing", err
		}
		return fmt.Sprint(c.Jobs[0].Task.Timeout), err
	}
	exec := func(query string) {
		t.Helper()
		if _, err := st.DB().(*sqlite.DB).SQL().Exec(named(query)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := claimed()
	if err != nil || before == "nothing" {
		t.Fatal(before, err)
	}
	exec(`update belfry.tasks set doc = json_set(doc, '$.timeout', '7m')`)
	if got, err := claimed(); got != "7m" || err != nil {
		t.Errorf("a task with another timeout is claimed with %s, %v", got, err)
	}
	exec(`update belfry.queues set paused_at = 1`)
	if got, err := claimed(); got != "nothing" || err != nil {
		t.Errorf("of a paused queue: %s, %v", got, err)
	}
	exec(`update belfry.queues set paused_at = 0`)
	exec(`update belfry.sessions set ended_at = 1`)
	if got, err := claimed(); err == nil || got != "nothing" {
		t.Errorf("by a session that has ended: %s, %v", got, err)
	}
}
