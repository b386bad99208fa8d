//go:build linux || darwin

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// complaints collects the errors of a checker.
type complaints []string

func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// A checker that never complains proves nothing. Each fault that it must find is put
// into a good history, and must be found.
func TestTheCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Unix(1_800_000_000+int64(n), 0).UTC() }
	good := func() (record, []line) {
		try := func(n int, lease int64, o job.Outcome) job.Attempt {
			return job.Attempt{Number: n, Lease: lease, Outcome: o}
		}
		work := func(id int64, n, attempts int) job.Job {
			return job.Job{ID: id, State: job.Succeeded, Schedule: "tick", Trigger: job.TriggerSchedule, Nominal: second(n), Attempt: attempts}
		}
		row := func(id int64, n int) schedule.Occurrence {
			return schedule.Occurrence{Nominal: second(n), Count: 1, Decision: schedule.DecidedJob, JobID: id}
		}
		r := record{
			jobs:     map[int64]job.Job{1: work(1, 0, 2), 2: work(2, 3, 1)},
			attempts: map[int64][]job.Attempt{1: {try(1, 10, job.OutcomeLost), try(2, 12, job.OutcomeOK)}, 2: {try(1, 11, job.OutcomeOK)}},
			occurrences: map[string][]schedule.Occurrence{"tick": {
				row(1, 0),
				{Nominal: second(1), Until: second(2), Count: 2, Decision: schedule.DecidedSkipped, Reason: schedule.ReasonCatchupLatest},
				row(2, 3),
			}},
			grid: map[string]time.Duration{"tick": time.Second},
		}
		return r, []line{
			{"start", "quick", 1, 1, 10, second(0)}, {"start", "quick", 2, 1, 11, second(3)}, {"end", "quick", 2, 1, 11, second(3)},
			{"start", "quick", 1, 2, 12, second(0)}, {"end", "quick", 1, 2, 12, second(0)},
		}
	}
	hear := func(r record, history []line) complaints {
		var found complaints
		judge(&verdict{t: &found}, r, history)
		return found
	}
	if found := hear(good()); len(found) > 0 {
		t.Fatalf("faults of a good history: got %s, want none", found)
	}
	edit := func(id int64, change func(*job.Job)) func(*record, *[]line) {
		return func(r *record, _ *[]line) {
			j := r.jobs[id]
			change(&j)
			r.jobs[id] = j
		}
	}
	for name, c := range map[string]struct {
		spoil func(r *record, history *[]line)
		says  string
	}{
		"a nominal time with two jobs": {edit(2, func(j *job.Job) { j.Nominal = second(0) }), "has jobs"},
		"a nominal time that is lost": {func(r *record, _ *[]line) {
			r.occurrences["tick"][1].Count, r.occurrences["tick"][1].Until = 1, time.Time{}
		}, "should"},
		"a skip without a reason":             {func(r *record, _ *[]line) { r.occurrences["tick"][1].Reason = "" }, "without a reason"},
		"an occurrence whose job is gone":     {func(r *record, _ *[]line) { r.occurrences["tick"][0].JobID = 7 }, "does not exist"},
		"an occurrence still in the buffer":   {func(r *record, _ *[]line) { r.occurrences["tick"][0].Decision = schedule.DecidedBuffered }, "still buffered"},
		"a job that never ends":               {edit(2, func(j *job.Job) { j.State = job.Running }), "has not ended"},
		"a job that ends without a reason":    {edit(2, func(j *job.Job) { j.State = job.Skipped }), "without a reason"},
		"two successes of one job":            {func(r *record, _ *[]line) { r.attempts[1][0].Outcome = job.OutcomeOK }, "with attempts"},
		"a success that never was":            {func(_ *record, h *[]line) { *h = (*h)[:4] }, "never came to its end"},
		"a success recorded as a failure":     {func(r *record, _ *[]line) { r.attempts[2][0].Outcome = job.OutcomeTimeout }, "the record says timeout"},
		"leases that do not grow":             {func(r *record, h *[]line) { r.attempts[1][1].Lease = 9; (*h)[3].lease, (*h)[4].lease = 9, 9 }, "after lease 10"},
		"an attempt that is not recorded":     {func(r *record, _ *[]line) { r.attempts[1] = r.attempts[1][1:] }, "are recorded"},
		"a start that is not recorded":        {func(_ *record, h *[]line) { *h = append(*h, line{"start", "quick", 2, 2, 13, second(3)}) }, "ran as attempt 2"},
		"two starts under one lease":          {func(_ *record, h *[]line) { *h = append(*h, (*h)[3]) }, "started twice"},
		"an old lease that works after a new": {func(_ *record, h *[]line) { *h = append(*h, line{"end", "quick", 1, 1, 10, second(0)}) }, "came after lease 12"},
		"a job that nobody knows":             {func(_ *record, h *[]line) { *h = append(*h, line{"start", "quick", 9, 1, 20, second(0)}) }, "is not in the record"},
	} {
		t.Run(name, func(t *testing.T) {
			r, history := good()
			c.spoil(&r, &history)
			if found := hear(r, history); !strings.Contains(strings.Join(found, "\n"), c.says) {
				t.Errorf("the fault is not found: the checker says %q", found)
			}
		})
	}
}
