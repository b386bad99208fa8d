package jobs_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// putBefore gives a job a place in the order of claims that is before all others,
// and tells nobody.
func putBefore(t *testing.T, st *store.Store, job int64) {
	t.Helper()
	const move = `update belfry.jobs set turn = 1 where id = $1`
	var err error
	switch db := st.DB().(type) {
	case *sqlite.DB:
		_, err = db.SQL().ExecContext(t.Context(), strings.ReplaceAll(move, base.Home, "belfry_"), job)
	case *postgres.DB:
		_, err = db.Pool().Exec(t.Context(), move, job)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Where a look everywhere is dear, claims go on from their mark, and what is before
// it is found meanwhile.
func TestAJobBeforeTheMarkIsFoundBesideTheClaims(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		session := openWaiting(t, st, "t")
		next := func() (ids []int64) {
			t.Helper()
			c, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range c.Jobs {
				ids = append(ids, j.Job.ID)
			}
			return ids
		}
		enqueue := func() int64 {
			t.Helper()
			out, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
			if err != nil {
				t.Fatal(err)
			}
			return out[0].Job.ID
		}
		expect := func(what string, want int64) {
			t.Helper()
			if got := next(); len(got) != 1 || got[0] != want {
				t.Fatalf("%s is %v, want %d", what, got, want)
			}
		}
		expect("the first, which sets the mark,", enqueue())
		for range 3 {
			before := enqueue()
			putBefore(t, st, before)
			st.LooksBack()
			expect("what is behind the mark", enqueue())
			for st.LooksUnderWay() {
				runtime.Gosched()
			}
			expect("what was before it", before)
		}
		st.LooksBack()
		last := enqueue()
		expect("the last", last)
		for st.LooksUnderWay() {
			runtime.Gosched()
		}
		if got := next(); len(got) > 0 {
			t.Errorf("claimed %v, where nothing was left", got)
		}
	})
}
