//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// line is a line that a command wrote about itself.
type line struct {
	what    string // start, beat, snooze, error, end, or a mark
	task    string // or the node of a mark
	job     int64
	attempt int
	lease   int64
	nominal time.Time
}

// readHistory reads the lines of the commands in the order of writing. Each line was
// one write to a file opened for appending, so no line is torn.
func readHistory(t testing.TB, file string) (all []line) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		var l line
		var nominal string
		if n, err := fmt.Sscan(row, &l.what, &l.task, &l.job, &l.attempt, &l.lease, &nominal); n != 6 {
			t.Fatalf("line %q of the history: %v", row, err)
		}
		if nominal != "-" {
			if l.nominal, err = time.Parse(time.RFC3339Nano, nominal); err != nil {
				t.Fatalf("line %q of the history: %v", row, err)
			}
		}
		all = append(all, l)
	}
	return all
}

// record has the jobs, attempts and occurrences that Belfry recorded.
type record struct {
	jobs        map[int64]job.Job
	attempts    map[int64][]job.Attempt
	occurrences map[string][]schedule.Occurrence

	// The record must satisfy these.
	grid    map[string]time.Duration // schedule -> distance of its nominal times
	limits  map[string]int           // task -> most attempts at the same time
	mayFail []string                 // tasks that may use up their attempts
}

// verdict collects all faults, so that one run of the test shows them together.
type verdict struct {
	t interface {
		Errorf(format string, args ...any)
	}
	wrong int
}

func (v *verdict) errorf(format string, args ...any) {
	if v.wrong++; v.wrong <= 30 {
		v.t.Errorf(format, args...)
	}
}

// judge runs all checks.
func judge(v *verdict, r record, history []line) {
	checkJobs(v, r)
	checkHistory(v, r, history)
	checkOverlap(v, r, history)
	for name, list := range r.occurrences {
		if step := r.grid[name]; step > 0 {
			checkPlan(v, name, list, step)
		}
		checkOccurrences(v, name, list, r)
	}
}

// checkJobs checks each job by itself: it ended once, and its attempts are in order
// under growing leases.
func checkJobs(v *verdict, r record) {
	for id, j := range r.jobs {
		as := r.attempts[id]
		if !j.State.Final() {
			v.errorf("job %d has not ended: %s", id, j.State)
		}
		if j.State != job.Succeeded && j.Reason == "" {
			v.errorf("job %d is %s without a reason", id, j.State)
		}
		if j.State == job.Failed && !slices.Contains(r.mayFail, j.Task) {
			v.errorf("job %d of %s failed although every task succeeds in time: %s %s, %d of %d", id, j.Task, j.Reason, j.Error, j.Failures, j.MaxAttempts)
		}
		if j.Attempt != len(as) {
			v.errorf("job %d began %d attempts, and %d are recorded", id, j.Attempt, len(as))
		}
		ok := 0
		for i, a := range as {
			if a.Number != i+1 || i > 0 && a.Lease <= as[i-1].Lease {
				v.errorf("job %d: attempt %d has number %d and lease %d, after lease %d", id, i+1, a.Number, a.Lease, as[max(i-1, 0)].Lease)
			}
			if a.Outcome == job.OutcomeOK {
				ok++
			}
		}
		if j.Kind == task.KindWorkflow && len(as) == 0 { // a run itself has no attempts
			continue
		}
		if (j.State == job.Succeeded) != (ok == 1) || ok > 1 || ok == 1 && as[len(as)-1].Outcome != job.OutcomeOK {
			v.errorf("job %d is %s with attempts %v", id, j.State, outcomes(as))
		}
	}
}

// checkHistory compares the lines of commands with their record.
func checkHistory(v *verdict, r record, history []line) {
	started, finished := map[try]bool{}, map[try]bool{}
	for _, l := range history {
		if l.mark() {
			continue
		}
		j, known := r.jobs[l.job]
		if !known {
			v.errorf("job %d ran and is not in the record: %+v", l.job, l)
			continue
		}
		at := try{l.job, l.lease}
		as := r.attempts[l.job]
		if l.attempt < 1 || l.attempt > len(as) || as[l.attempt-1].Lease != l.lease {
			v.errorf("job %d ran as attempt %d under lease %d, and the record has %d attempts: %+v", l.job, l.attempt, l.lease, len(as), as)
			continue
		}
		if !l.nominal.Equal(j.Nominal) {
			v.errorf("job %d ran for %s, and the record says %s", l.job, l.nominal, j.Nominal)
		}
		outcome := as[l.attempt-1].Outcome
		switch l.what {
		case "start":
			if started[at] {
				v.errorf("job %d started twice under lease %d", l.job, l.lease)
			}
			started[at] = true
		case "error":
			if outcome == job.OutcomeOK {
				v.errorf("job %d failed under lease %d, and the record says ok", l.job, l.lease)
			}
		case "end":
			finished[at] = true
			// A success may be lost on the way to the record, or meet a request to
			// cancel, but it never becomes another outcome.
			// An attempt that was claimed ahead and began just before its worker was
			// lost is handed back, see decision 0003.
			forgiven := outcome == job.OutcomeHandedBack && strings.Contains(as[l.attempt-1].Error, "before it said that the job had begun")
			if outcome != job.OutcomeOK && outcome != job.OutcomeLost && !forgiven && j.State != job.Canceled {
				v.errorf("job %d came to its end under lease %d, and the record says %s: %s", l.job, l.lease, outcome, as[l.attempt-1].Error)
			}
		}
	}
	for id, as := range r.attempts {
		for _, a := range as {
			if a.Outcome == job.OutcomeOK && !finished[try{id, a.Lease}] {
				v.errorf("job %d succeeded under lease %d in the record, and never came to its end", id, a.Lease)
			}
		}
	}
}

// checkPlan fails unless every nominal time from the first to the last occurs once.
func checkPlan(v *verdict, name string, list []schedule.Occurrence, step time.Duration) {
	if len(list) == 0 {
		v.errorf("schedule %s has no occurrence", name)
		return
	}
	expect := list[0].Nominal
	for _, o := range list {
		last := o.Nominal
		if !o.Until.IsZero() {
			last = o.Until
		}
		if !o.Nominal.Equal(expect) {
			v.errorf("schedule %s: %s stands where %s should", name, o.Nominal.Format(time.RFC3339Nano), expect.Format(time.RFC3339Nano))
		}
		// Counts end at core.CountLimit.
		if n := min(int(last.Sub(o.Nominal)/step)+1, core.CountLimit+1); n != o.Count {
			v.errorf("schedule %s: the row from %s to %s counts %d and not %d", name, o.Nominal, last, o.Count, n)
		}
		expect = last.Add(step)
	}
}

// checkOccurrences fails unless an occurrence has a job of its own nominal time, or a
// reason.
func checkOccurrences(v *verdict, name string, list []schedule.Occurrence, r record) {
	byTime := map[int64][]int64{}
	for id, j := range r.jobs {
		if j.Schedule == name && j.Trigger == job.TriggerSchedule {
			byTime[j.Nominal.UnixMicro()] = append(byTime[j.Nominal.UnixMicro()], id)
		}
	}
	for at, ids := range byTime {
		if len(ids) > 1 {
			v.errorf("schedule %s has jobs %v for %s", name, ids, time.UnixMicro(at).UTC())
		}
	}
	jobs := 0
	for _, o := range list {
		switch o.Decision {
		case schedule.DecidedJob:
			jobs++
			if j, ok := r.jobs[o.JobID]; !ok || !j.Nominal.Equal(o.Nominal) {
				v.errorf("schedule %s: the job %d of %s does not exist, or is for %s", name, o.JobID, o.Nominal, j.Nominal)
			}
		case schedule.DecidedSkipped:
			if o.Reason == "" {
				v.errorf("schedule %s: %s was skipped without a reason", name, o.Nominal)
			}
		default:
			v.errorf("schedule %s: %s is still %s", name, o.Nominal, o.Decision)
		}
	}
	if jobs != len(byTime) {
		v.errorf("schedule %s has %d occurrences with a job, and jobs for %d times", name, jobs, len(byTime))
	}
}
