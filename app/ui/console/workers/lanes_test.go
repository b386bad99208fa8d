package workers

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestLanes(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 30, 0, time.UTC)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	ran := func(id int64, session string, state job.State, from, to int) job.Job {
		j := job.Job{ID: id, Task: "backup", Session: session, State: state, CreatedAt: at(from), ClaimedAt: at(from)}
		if state.Final() {
			j.FinishedAt = at(to)
		}
		return j
	}
	workers := []job.WorkerState{{Session: "a", WorkerInfo: job.WorkerInfo{Name: "one"}}, {Session: "b", WorkerInfo: job.WorkerInfo{Name: "two"}}, {Session: "c"}}
	jobs := []job.Job{
		ran(4, "b", job.Running, -60, 0),
		ran(3, "a", job.Failed, -600, -300),
		ran(2, "a", job.Succeeded, -900, -600),
		ran(1, "a", job.Succeeded, -1200, -400),
		{ID: 5, Session: "a", State: job.Canceled, CreatedAt: at(-20), FinishedAt: at(-10)}, // which never began
		ran(0, "gone", job.Succeeded, -1200, -400),
	}
	l := newLanes(workers, core.Page[job.Job]{Items: slices.Clone(jobs)}, now)
	if l.Span() != time.Hour || l.To.Sub(now) != 30*time.Second || l.Partial || len(l.Workers) != 2 {
		t.Fatalf("%+v", l)
	}
	one := l.Workers[0]
	if got, want := one.Said(), "one ran 3 jobs, at most 2 at once, of which 1 failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var places [][3]int
	for _, b := range one.Bars {
		places = append(places, [3]int{b.X, b.Y, b.Wide})
	}
	if want := [][3]int{{658, 0, 222}, {741, laneHeight, 84}, {825, laneHeight, 83}}; !slices.Equal(places, want) { // the third follows in the second lane
		t.Errorf("%v, want %v", places, want)
	}
	if got, want := l.Workers[1].Bars[0].Title, "Job 4 of backup: running, 1 min"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	// With more jobs than the picture may have it reaches back only as far as they do.
	l = newLanes(workers, core.Page[job.Job]{Items: slices.Clone(jobs[:4]), Next: "more"}, now)
	if l.Span() != 10*time.Minute || l.Partial || l.Workers[0].Jobs != 2 {
		t.Errorf("%+v", l)
	}
	l = newLanes(workers, core.Page[job.Job]{Items: []job.Job{ran(9, "a", job.Succeeded, -9, -8)}, Next: "more"}, now)
	if l.Span() != time.Minute || !l.Partial {
		t.Errorf("%+v", l)
	}

	// More at once than there are lanes are counted.
	var many []job.Job
	for id := range int64(lanesMost + 3) {
		many = append(many, ran(id, "a", job.Running, -30, 0))
	}
	if one := newLanes(workers, core.Page[job.Job]{Items: many}, now).Workers[0]; one.More != 3 || len(one.Bars) != lanesMost || one.Said() != "one ran 15 jobs, more than 12 at once" {
		t.Errorf("%+v", one)
	}
}
