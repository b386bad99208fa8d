package workers

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

// The slots of a worker are told apart by queue, those of checks last, and their use where it is known.
func TestSlotsOfAWorkerByQueue(t *testing.T) {
	usual := map[string]int{"default": 10, "checks": 200}
	worker := func(queues, runs map[string]int) job.WorkerState {
		return job.WorkerState{WorkerInfo: job.WorkerInfo{Name: "w", Queues: queues}, Session: "w", RunningByQueue: runs}
	}
	ended := worker(map[string]int{"default": 4}, nil)
	ended.EndedAt = time.Unix(1, 0)
	for _, tt := range []struct {
		w     job.WorkerState
		known bool
		want  string
	}{
		{worker(map[string]int{"checks": 0, "default": 0, "odd": 0}, map[string]int{"default": 2, "checks": 1}), true, "default 2 of 10 · odd · checks 1 of 200"},
		{worker(map[string]int{"checks": 4, "default": 0}, nil), false, "default 10 · checks 4"},
		{worker(map[string]int{"default": 10}, map[string]int{"default": 110}), true, "default 10 of 10, 100 claimed ahead"},
		{worker(map[string]int{"default": 1000}, map[string]int{"default": 999, "gone": 3}), true, "default 999 of 1 000"},
		{worker(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1}, nil), true,
			"a 0 of 1 · b 0 of 1 · c 0 of 1 · d 0 of 1 · e 0 of 1 · f 0 of 1 · g 0 of 1 · h 0 of 1 · 2 more queues"},
		{ended, true, "default 4"},
		{worker(nil, nil), true, ""},
	} {
		if got := slotsText(queueSlots(tt.w, usual, tt.known)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if all := queueSlots(worker(map[string]int{"default": 0}, map[string]int{"default": 2}), usual, true); all[0].Use == nil || all[0].Use.Value != 2 || all[0].Use.Max != 10 {
		t.Errorf("%+v", all)
	}
}
