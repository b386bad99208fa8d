package store_test

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

// putBefore moves a job to the front of the order of claims, without a wake-up.
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

// If a look everywhere is slow, claims begin at their mark, and a look back finds the jobs before it.
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
				t.Fatalf("%s: claimed %v, want job %d", what, got, want)
			}
		}
		expect("first job, which sets the mark", enqueue())
		for range 3 {
			before := enqueue()
			putBefore(t, st, before)
			st.LooksBack()
			expect("job after the mark", enqueue())
			for st.LooksUnderWay() {
				runtime.Gosched()
			}
			expect("job before the mark", before)
		}
		st.LooksBack()
		last := enqueue()
		expect("last job", last)
		for st.LooksUnderWay() {
			runtime.Gosched()
		}
		if got := next(); len(got) > 0 {
			t.Errorf("claimed %v, want no job: none is left", got)
		}
	})
}
