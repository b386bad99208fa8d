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
	k := New(slog.New(slog.DiscardHandler))
	k.now = func() time.Time { return now }
	var last time.Duration
	for i := range 10 {
		for range 5 { // attempts that began together count once
			k.Record(task.KindCommand, false, "too many open files")
		}
		without, again, trying := k.State()
		if !slices.Equal(without, []task.Kind{task.KindCommand}) || trying || !k.IsPaused(task.KindCommand) || k.IsPaused(task.KindHTTP) {
			t.Fatalf("round %d: without %v, trying: %v", i, without, trying)
		}
		pause := again.Sub(now)
		if pause <= 0 || pause > maxPause || pause < last/4 {
			t.Errorf("round %d: it is left alone for %s after %s", i, pause, last)
		}
		last, now = pause, again
		if without, _, trying := k.State(); len(without) > 0 || !trying {
			t.Errorf("round %d: when the pause is over it is not tried: %v", i, without)
		}
	}
	if last < maxPause/4 {
		t.Errorf("after ten rounds the pause is %s", last)
	}
	k.Record(task.KindCommand, true, "")
	if _, _, trying := k.State(); trying || len(k.Reasons()) > 0 {
		t.Errorf("it began, and is paused all the same: %v", k.Reasons())
	}
}
