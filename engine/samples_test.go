package engine_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// An engine samples each minute once, soon after its start.
func TestQueuesAreSampledEachMinute(t *testing.T) {
	simulate(t, func(*worker.Handlers) {}, func(t *testing.T, n *node) {
		if _, err := n.st.CreateTask(t.Context(), task.Task{Name: "waits", Kind: task.KindFunc}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := n.st.Enqueue(t.Context(), []job.NewJob{{Task: "waits"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Minute + 10*time.Second)
		found, err := n.st.QueueSamples(t.Context(), job.SampleQuery{Queues: []string{task.DefaultQueue}})
		if err != nil {
			t.Fatal(err)
		}
		points := found.Items[0].Points
		if len(points) != 11 {
			t.Fatalf("ten minutes have %d samples, want 11: %+v", len(points), points)
		}
		for i, p := range points {
			at := began.Add(time.Duration(i) * time.Minute)
			if !p.At.Equal(at) || p.Ready != 1 || p.Oldest < core.Duration(time.Duration(i)*time.Minute) || p.Oldest > core.Duration(time.Duration(i)*time.Minute+5*time.Second) {
				t.Errorf("sample %d is %+v, want 1 ready job at %s", i, p, at)
			}
		}
	})
}
