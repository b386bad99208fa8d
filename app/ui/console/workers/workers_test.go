package workers

import (
	"slices"
	"testing"

	"github.com/belfry-run/belfry/job"
)

func TestWorkerSlots(t *testing.T) {
	w := job.WorkerState{WorkerInfo: job.WorkerInfo{Queues: map[string]int{"default": 0, "checks": 4, "odd": 0}}}
	ofQueues := map[string]int{"default": 10, "checks": 200}
	for most, want := range map[int]string{3: "checks 4 · default 10 · odd", 2: "checks 4 · default 10 · 1 more queue", 1: "checks 4 · 2 more queues"} {
		if got := workerSlots(w, ofQueues, most); got != want {
			t.Errorf("slots of at most %d queues: got %q, want %q", most, got, want)
		}
	}
}

func TestUseOfSlots(t *testing.T) {
	w := job.WorkerState{WorkerInfo: job.WorkerInfo{Name: "w", Queues: map[string]int{"default": 0, "checks": 4}}, Running: 3}
	usual := map[string]int{"default": 10}
	if got := slotUse(w, usual); got == nil || got.Text != "3 of 14" || got.Value != 3 || got.Max != 14 {
		t.Errorf("%+v", got)
	}
	if got := slotUse(w, nil); got != nil {
		t.Errorf("of a queue whose slots are unknown: %+v", got)
	}
	holds := []job.Job{{Queue: "default"}, {Queue: "checks"}, {Queue: "default"}}
	if got := queueUse(w, usual, holds); len(got) != 2 || got["default"].Text != "2 of 10" || got["checks"].Text != "1 of 4" {
		t.Errorf("%+v", got)
	}
	if got := queueUse(w, usual, holds[:2]); len(got) != 0 {
		t.Errorf("of jobs that are not all known: %+v", got)
	}
	if got := queueUse(w, nil, holds); len(got) != 0 {
		t.Errorf("beside a queue whose slots are unknown: %+v", got)
	}
	ahead := job.WorkerState{WorkerInfo: job.WorkerInfo{Name: "w", Queues: map[string]int{"default": 10}}, Running: 110}
	if got := slotUse(ahead, nil); got == nil || got.Text != "10 of 10, 100 claimed ahead" || got.Value != 10 {
		t.Errorf("%+v", got)
	}
	if got := queueUse(ahead, nil, slices.Repeat([]job.Job{{Queue: "default"}}, 110)); got["default"] == nil || got["default"].Text != "10 of 10, 100 claimed ahead" {
		t.Errorf("%+v", got)
	}
}
