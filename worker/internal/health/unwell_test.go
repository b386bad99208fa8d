package health

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/task"
)

func TestAKindThatCannotBeginIsLeftAloneForEverLonger(t *testing.T) {
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	u := New(slog.New(slog.DiscardHandler))
	u.now = func() time.Time { return now }
	var last time.Duration
	for i := range 10 {
		for range 5 { // that were begun together count once
			u.Saw(task.KindCommand, false, "too many open files")
		}
		without, again, trying := u.State()
		if !slices.Equal(without, []task.Kind{task.KindCommand}) || trying || !u.Cannot(task.KindCommand) || u.Cannot(task.KindHTTP) {
			t.Fatalf("round %d: without %v, trying: %v", i, without, trying)
		}
		pause := again.Sub(now)
		if pause <= 0 || pause > unwellMost || pause < last/4 {
			t.Errorf("round %d: it is left alone for %s after %s", i, pause, last)
		}
		last, now = pause, again
		if without, _, trying := u.State(); len(without) > 0 || !trying {
			t.Errorf("round %d: when the pause is over it is not tried: %v", i, without)
		}
	}
	if last < unwellMost/4 {
		t.Errorf("after ten rounds the pause is %s", last)
	}
	u.Saw(task.KindCommand, true, "")
	if _, _, trying := u.State(); trying || len(u.Said()) > 0 {
		t.Errorf("it began, and is unwell all the same: %v", u.Said())
	}
}
