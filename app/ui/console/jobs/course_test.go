package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

func TestTheCourseOfAJob(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC) }
	attempt := func(n, claimed, started, ended int, o job.Outcome) job.Attempt {
		return job.Attempt{Number: n, ClaimedAt: at(claimed), StartedAt: at(started), EndedAt: at(ended), Outcome: o}
	}
	for name, tt := range map[string]struct {
		job      job.Job
		attempts []job.Attempt
		legs     string
		points   string
	}{
		"waits for its time": {job: job.Job{State: job.Scheduled, CreatedAt: at(0), DueAt: at(90)},
			legs: "Waits for its time: 1 min", points: "Due; Claimed -; Finished -"},
		"waits for a worker": {job: job.Job{State: job.Ready, CreatedAt: at(0), DueAt: at(20)},
			legs: "Waits for its time: 20 s, Waits for a worker: 40 s", points: "Due; Claimed -; Finished -"},
		"runs": {job: job.Job{State: job.Running, Attempt: 1, CreatedAt: at(0), DueAt: at(0), ClaimedAt: at(15)},
			legs: "Waits for a worker: 15 s, Attempt 1 runs: 45 s", points: "Due; Claimed 15 s waiting; Finished - 45 s so far"},
		"ran": {job: job.Job{State: job.Succeeded, Attempt: 1, CreatedAt: at(0), DueAt: at(0), ClaimedAt: at(10), FinishedAt: at(40)},
			attempts: []job.Attempt{attempt(1, 10, 12, 40, job.OutcomeOK)},
			legs:     "Waits for a worker: 10 s, Starts up: 2 s, Attempt 1: ok: 28 s", points: "Due; Claimed 10 s waiting; Started 2 s starting up; Finished 28 s running"},
		"failed twice": {job: job.Job{State: job.Failed, Attempt: 2, CreatedAt: at(0), DueAt: at(30), ClaimedAt: at(35), FinishedAt: at(40)},
			attempts: []job.Attempt{attempt(1, 1, 1, 11, job.OutcomeTimeout), attempt(2, 35, 36, 40, job.OutcomeError)},
			legs:     "Waits for a worker: 1 s, Attempt 1: timeout: 10 s, Waits for its next try: 19 s, Waits for a worker: 5 s, Starts up: 1 s, Attempt 2: error: 4 s",
			points:   "Due; Claimed 5 s waiting; Started 1 s starting up; Finished 4 s running"},
		"canceled before it began": {job: job.Job{State: job.Canceled, CreatedAt: at(0), DueAt: at(59), FinishedAt: at(20)},
			legs: "Waits for its time: 20 s", points: "Due; Claimed -; Finished"},
		"is tried again later": {job: job.Job{State: job.Scheduled, CreatedAt: at(0), DueAt: at(90)}, attempts: []job.Attempt{attempt(1, 1, 1, 11, job.OutcomeError)},
			legs: "Waits for a worker: 1 s, Attempt 1: error: 10 s, Waits for its next try: 49 s", points: "Due; Claimed -; Finished -"},
		"failed three times": {job: job.Job{State: job.Failed, CreatedAt: at(0), DueAt: at(40), FinishedAt: at(50)},
			attempts: []job.Attempt{attempt(1, 0, 0, 10, job.OutcomeError), attempt(2, 20, 20, 30, job.OutcomeError), attempt(3, 40, 40, 50, job.OutcomeError)},
			legs:     "Attempt 1: error: 10 s, Waits for its next try: 10 s, Attempt 2: error: 10 s, Waits for its next try: 10 s, Attempt 3: error: 10 s", points: "Due; Claimed 0 s waiting; Started 0 s starting up; Finished 10 s running"},
		"made late": {job: job.Job{State: job.Ready, CreatedAt: at(30), DueAt: at(0), Nominal: at(0)},
			legs: "Waits for a worker: 30 s", points: "Due created 30 s later; Claimed -; Finished -"},
	} {
		c := newCourse(tt.job, tt.attempts, at(60))
		var legs, points []string
		for _, l := range c.Legs {
			legs = append(legs, l.Said())
			if x := c.X(l); x < 0 || x+c.Width(l) > courseWidth {
				t.Errorf("%s: %s is drawn at %d, %d wide", name, l.Said(), x, c.Width(l))
			}
		}
		for _, p := range c.Points {
			text := p.Name
			if !p.There() {
				text += " -"
			}
			points = append(points, strings.TrimSpace(text+" "+p.Took))
		}
		if got := strings.Join(legs, ", "); got != tt.legs {
			t.Errorf("%s: %s, want %s", name, got, tt.legs)
		}
		if got := strings.Join(points, "; "); got != tt.points {
			t.Errorf("%s: %s, want %s", name, got, tt.points)
		}
	}
}

// The steps of a workflow that has ended have the tone of its end.
func TestCourseOfAWorkflow(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC) }
	steps := []graphStep{{Leg: leg{From: at(5)}}}
	for state, want := range map[job.State]string{job.Running: "Its steps run busy", job.Succeeded: "Its steps ran good", job.Failed: "Its steps ran bad", job.Canceled: "Its steps ran idle"} {
		j := job.Job{State: state, CreatedAt: at(0), DueAt: at(0)}
		if state.Final() {
			j.FinishedAt = at(30)
		}
		c := newGraphCourse(j, steps, at(60))
		if last := c.Legs[len(c.Legs)-1]; last.Name+" "+last.Tone != want {
			t.Errorf("%s: %s %s, want %s", state, last.Name, last.Tone, want)
		}
	}
}
