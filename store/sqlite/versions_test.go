package sqlite_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

func TestVersionMovesWithWhatSomebodyElseWrites(t *testing.T) {
	st := grouped(t)
	version := func() (v int64) {
		if err := st.DB().Write(t.Context(), func(_ base.Tx, at base.Moment) error {
			v = at.Version
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return v
	}
	exec := func(query string) {
		if _, err := st.DB().(*sqlite.DB).SQL().Exec(named(query)); err != nil {
			t.Fatal(err)
		}
	}
	refused := errors.New("refused")
	for _, c := range []struct {
		name  string
		write func()
		moves bool
	}{
		{"a transition", func() { _ = st.DB().Write(t.Context(), insert(1)) }, false},
		{"a transition that is taken back", func() {
			_ = st.DB().Write(t.Context(), func(tx base.Tx, at base.Moment) error { return errors.Join(insert(2)(tx, at), refused) })
		}, false},
		{"somebody who reads", func() { exec("select * from belfry.queues") }, false},
		{"somebody else", func() { exec("update belfry.queues set paused_at = paused_at + 100") }, true},
	} {
		before := version()
		c.write()
		if now := version(); (now != before) != c.moves {
			t.Errorf("%s: it went from %d to %d", c.name, before, now)
		}
	}
}

func TestClaimsSeeWhatSomebodyElseWrites(t *testing.T) {
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
