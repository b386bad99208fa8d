package workers

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

// The slots of a worker are told apart by queue, those of checks last, and their use where it is known.
func TestSlotsOfAWorkerByQueue(t *testing.T) {
	usual := map[string]int{"default": 10, "checks": 200}
	holds := []job.Job{{Session: "w", Queue: "default"}, {Session: "w", Queue: "checks"}, {Session: "other", Queue: "checks"}, {Session: "w", Queue: "default"}}
	worker := func(running int, queues map[string]int) job.WorkerState {
		return job.WorkerState{WorkerInfo: job.WorkerInfo{Name: "w", Queues: queues}, Session: "w", Running: running}
	}
	ended := worker(0, map[string]int{"default": 4})
	ended.EndedAt = time.Unix(1, 0)
	for _, tt := range []struct {
		w     job.WorkerState
		holds []job.Job
		want  string
	}{
		{worker(3, map[string]int{"checks": 0, "default": 0, "odd": 0}), holds, "default 2 of 10 · odd · checks 1 of 200"},
		{worker(4, map[string]int{"checks": 4, "default": 0}), holds, "default 10 · checks 4"}, // one of its jobs is not known
		{worker(110, map[string]int{"default": 10}), slices.Repeat([]job.Job{{Session: "w", Queue: "default"}}, 110), "default 10 of 10, 100 claimed ahead"},
		{worker(0, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1}), nil,
			"a 0 of 1 · b 0 of 1 · c 0 of 1 · d 0 of 1 · e 0 of 1 · f 0 of 1 · g 0 of 1 · h 0 of 1 · 2 more queues"},
		{ended, nil, "default 4"},
		{worker(0, nil), nil, ""},
	} {
		if got := slotsText(queueSlots(tt.w, usual, tt.holds)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if all := queueSlots(worker(3, map[string]int{"default": 0}), usual, holds); all[0].Use == nil || all[0].Use.Value != 2 || all[0].Use.Max != 10 {
		t.Errorf("%+v", all)
	}
}
