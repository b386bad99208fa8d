package tasks

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

// tried remembers trials by their keys, as the node does.
type tried struct {
	trialAPI
	jobs map[string]job.Job
}

func (a *tried) TryTask(_ context.Context, t job.TaskTrial) (job.Enqueued, error) {
	j, is := a.jobs[t.Key]
	if !is {
		j = job.Job{ID: int64(len(a.jobs) + 1), State: job.Running}
		a.jobs[t.Key] = j
	}
	return job.Enqueued{Job: j, Existing: is}, nil
}

func (a *tried) end(id int64, at time.Time) {
	for key, j := range a.jobs {
		if j.ID == id {
			j.State, j.FinishedAt = job.Succeeded, at
			a.jobs[key] = j
		}
	}
}

// A form of the browser's history has the key that it had. It is another trial once that of before is over, and never while it may have been sent twice.
func TestFormOfHistoryIsAnotherTrial(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	a := &tried{jobs: map[string]job.Job{}}
	try := func(now time.Time) int64 {
		e, err := tryTask(t.Context(), a, job.TaskTrial{Key: "k"}, func(j job.Job) bool { return over(j, now) })
		if err != nil {
			t.Fatal(err)
		}
		return e.Job.ID
	}
	for i, want := range []int64{1, 1} {
		if got := try(now); got != want {
			t.Errorf("while it runs, %d: job %d", i, got)
		}
	}
	a.end(1, now)
	for _, tt := range []struct {
		after time.Duration
		want  int64
	}{{time.Second, 1}, {time.Minute, 2}, {time.Minute, 2}} {
		if got := try(now.Add(tt.after)); got != tt.want {
			t.Errorf("%s after its end: job %d, want %d", tt.after, got, tt.want)
		}
	}
	a.end(2, now.Add(time.Minute))
	if got := try(now.Add(time.Hour)); got != 3 {
		t.Errorf("a third: job %d", got)
	}
}
