package job

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestHowAJobStandsToTheBoundOfItsQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    task.Kind
		trigger schedule.Trigger
		attempt int
		want    Place
	}{
		{task.KindFunc, TriggerEnqueue, 0, PlaceDroppable},
		{task.KindFunc, TriggerSchedule, 0, PlaceDroppable},
		{task.KindFunc, TriggerManual, 0, PlaceDroppable},
		{task.KindFunc, schedule.TriggerBackfill, 0, PlaceDroppable},
		{task.KindFunc, TriggerEnqueue, 1, PlaceKept},
		{task.KindFunc, TriggerStep, 0, PlaceKept},
		{task.KindFunc, TriggerCycle, 0, PlaceKept},
		{task.KindHTTP, TriggerCheck, 0, PlaceKept},
		{task.KindCycle, TriggerSchedule, 0, PlaceNone},
		{task.KindWorkflow, TriggerEnqueue, 0, PlaceNone},
	} {
		if got := PlaceIn(c.kind, c.trigger, c.attempt); got != c.want {
			t.Errorf("%s by %s after %d attempts: %d, want %d", c.kind, c.trigger, c.attempt, got, c.want)
		}
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ most, waiting, asked, want int }{
		{0, 1000, 1000, 0}, {5, 4, 1, 0}, {5, 4, 2, 1}, {5, 5, 1, 1}, {5, 9, 1, 5}, {5, 0, 6, 1},
	} {
		if got := (Queue{MaxWaiting: c.most}).Overflow(c.waiting, c.asked); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestARefusalOfAFullQueueNamesTheWayOut(t *testing.T) {
	t.Parallel()
	q := Queue{Name: "mails", MaxWaiting: 5, OnFull: OnFullRefuse}
	dropping := q
	dropping.OnFull = OnFullDropOldest
	for _, c := range []struct {
		err   *core.Error
		after core.Duration
		want  []string
	}{
		{q.Full(5, 1, 0), core.Duration(FullWait), []string{`queue "mails" is full: 5 of 5 jobs wait, 1 more asked for`, "wait until workers have begun some", "belfry queue update mails --max-waiting"}},
		{q.Full(0, 6, 0), 0, []string{"enqueue at most 5 at once"}},
		{dropping.Full(5, 2, 1), core.Duration(FullWait), []string{"only 1 could be dropped for them", "are kept"}},
	} {
		for _, part := range c.want {
			if !strings.Contains(c.err.Error(), part) {
				t.Errorf("%s\nlacks %q", c.err, part)
			}
		}
		if c.err.Code != core.QueueFull || c.err.RetryAfter != c.after {
			t.Errorf("%+v", c.err)
		}
	}
}
