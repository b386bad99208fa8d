//go:build linux

package monitors

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/bench/benchtest"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/task"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

func TestMonitorsAreWatchedOnANodeThatLeavesAndComesBack(t *testing.T) {
	program, err := process.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		t.Parallel()
		o := Watch{Monitors: 5, Every: time.Second, Hosts: 2, Warm: 2 * time.Second, For: 2 * time.Second, Away: time.Second, Back: 5 * time.Second}
		w, err := o.Run(t.Context(), s, program)
		if err != nil {
			t.Fatal(err)
		}
		if w.Return.CaughtUp+w.Return.Others != o.Monitors || w.Return.After.N == 0 || w.Memory == 0 {
			t.Errorf("measures: got %+v", w)
		}
	})
}

func TestChecksThatAreNotAsTheyShouldBeAreCounted(t *testing.T) {
	o := Watch{Monitors: 4, Every: time.Minute, For: 2 * time.Minute}
	ok := func(monitor int64) result { return result{monitor: monitor, outcome: task.CheckOK} }
	bad := result{monitor: 3, outcome: task.CheckFail}
	// The first monitor has all checks, the second missed one, the third failed once, the fourth has none.
	if got := o.astray([]result{ok(1), ok(1), ok(2), ok(3), bad}); got != 1+1+2 {
		t.Errorf("checks astray: got %d", got)
	}
	if got := o.astray([]result{ok(1), ok(1), ok(1), ok(2), ok(2), ok(3), ok(3), ok(4), ok(4)}); got != 1 {
		t.Errorf("checks astray after a double check: got %d", got)
	}
}

func TestALateCheckWasDueBeforeItCounts(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	for delay, want := range map[time.Duration]time.Time{time.Second: at, veryLate: at, time.Minute: at.Add(-time.Minute)} {
		if got := (result{at: at, delay: delay}).due(); !got.Equal(want) {
			t.Errorf("due time of a check that is %s late: got %s, want %s", delay, got, want)
		}
	}
}
