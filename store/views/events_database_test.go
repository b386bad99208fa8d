package views_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
)

// With polls by the hour, the clock of the bubble stands still as long as wake-ups are enough.
func TestWatchersAreWokenByAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: store.Options{Poll: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		_, cursor, err := st.Events(t.Context(), "default", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []struct {
			what string
			do   func() error
		}{
			{"an enqueue", func() error { _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); return err }},
			{"a pause", func() error { _, err := st.PauseQueue(t.Context(), "default", ""); return err }},
			{"a resume", func() error { _, err := st.ResumeQueue(t.Context(), "default"); return err }},
		} {
			began := time.Now()
			done := make(chan struct{})
			go func() {
				defer close(done)
				events, next, err := st.Events(t.Context(), "default", cursor, 3*time.Hour)
				if cursor = next; err != nil || len(events) != 1 {
					t.Errorf("after %s: got events %v and error %v, want one event", change.what, events, err)
				}
			}()
			synctest.Wait()
			if err := change.do(); err != nil {
				t.Fatal(err)
			}
			if <-done; time.Since(began) > 0 {
				t.Errorf("%s woke nothing: the watcher waited %s", change.what, time.Since(began))
			}
		}
	})
}
