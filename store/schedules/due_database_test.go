package schedules_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/internal/both"
)

// due is how many schedules a pass finds due.
func due(t *testing.T, st *store.Store) int {
	t.Helper()
	out, err := st.FireDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.Schedules
}

func TestAPassThatBeginsAtTheMarkFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		due(t, st)
		st.LooksAreDear(true)
		due(t, st)
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		_, err := st.CreateSchedule(t.Context(), schedule.Schedule{Name: "s", Task: "t", Overlap: schedule.OverlapAllow, Rules: []schedule.Rule{{Every: core.Duration(time.Second)}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // each comes within a second
			for due(t, st) == 0 {
				if t.Context().Err() != nil {
					t.Fatal("nothing is due any more")
				}
			}
		}
		foundEverywhereAlone(t, st, `update belfry.schedules set next_at = 1`, due)
	})
}

// foundEverywhereAlone wants what comes before the mark without a word, as from
// another node that died, to be found by a pass that looks everywhere, and by no
// other.
func foundEverywhereAlone(t *testing.T, st *store.Store, comes string, pass func(*testing.T, *store.Store) int) {
	t.Helper()
	err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), comes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pass(t, st); n != 0 {
		t.Errorf("%d were found before the mark", n)
	}
	st.LooksAreDear(false)
	if n := pass(t, st); n != 1 {
		t.Errorf("%d were found everywhere, want 1", n)
	}
}

// promoted is how many delayed jobs a pass finds due.
func promoted(t *testing.T, st *store.Store) int {
	t.Helper()
	out, err := st.Promote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.Jobs
}

func TestAPassThatBeginsAtTheMarkFindsDelayedJobs(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		promoted(t, st)
		st.LooksAreDear(true)
		promoted(t, st)
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time beyond what the mark rose to with the first
			if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Delay: core.Duration(50 * time.Millisecond)}}); err != nil {
				t.Fatal(err)
			}
			for promoted(t, st) == 0 {
				if t.Context().Err() != nil {
					t.Fatal("nothing is due any more")
				}
			}
		}
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Delay: core.Duration(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		foundEverywhereAlone(t, st, `update belfry.jobs set due_at = 1 where state = 'scheduled'`, promoted)
	})
}
