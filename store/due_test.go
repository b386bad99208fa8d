package store_test

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

// due returns the number of schedules that a pass finds due.
func due(t *testing.T, st *store.Store) int {
	t.Helper()
	out, err := st.FireDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.Schedules
}

func TestAPassThatBeginsAtTheMarkFindsDueSchedules(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		due(t, st)
		st.StartAtMarks(true)
		due(t, st)
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		_, err := st.CreateSchedule(t.Context(), schedule.Schedule{Name: "s", Task: "t", Overlap: schedule.OverlapAllow, Rules: []schedule.Rule{{Every: core.Duration(time.Second)}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // each run is due within a second
			for due(t, st) == 0 {
				if t.Context().Err() != nil {
					t.Fatal("the schedule is no longer due")
				}
			}
		}
		foundOnlyByAFullPass(t, st, `update belfry.schedules set next_at = 1`, due)
	})
}

// foundOnlyByAFullPass checks which pass finds a row that comes before the mark unannounced, as from another node that died:
// only a pass from the beginning.
func foundOnlyByAFullPass(t *testing.T, st *store.Store, comes string, pass func(*testing.T, *store.Store) int) {
	t.Helper()
	err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), comes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pass(t, st); n != 0 {
		t.Errorf("a pass from the mark found %d rows before it, want 0", n)
	}
	st.StartAtMarks(false)
	if n := pass(t, st); n != 1 {
		t.Errorf("a pass from the beginning found %d rows, want 1", n)
	}
}

// promoted returns the number of delayed jobs that a pass finds due.
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
		st.StartAtMarks(true)
		promoted(t, st)
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second job is due after the mark that the first one raised
			if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Delay: core.Duration(50 * time.Millisecond)}}); err != nil {
				t.Fatal(err)
			}
			for promoted(t, st) == 0 {
				if t.Context().Err() != nil {
					t.Fatal("the delayed job is never due")
				}
			}
		}
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Delay: core.Duration(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		foundOnlyByAFullPass(t, st, `update belfry.jobs set due_at = 1 where state = 'scheduled'`, promoted)
	})
}
