package e2e

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// A known number of jobs ends in each way, and the jobs record their own run times. The record, the counts of the API and
// the metrics must agree with both.
func TestKnownTruthOfJobs(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		const good, bad, late, slow = 7, 3, 2, 4
		n := s.serve("--allow-commands")
		ran := filepath.Join(s.dir, "ran")
		retry := func(attempts int) func(*task.Task) {
			return func(tk *task.Task) {
				tk.Retry = task.Retry{MaxAttempts: attempts, Delay: core.Duration(10 * time.Millisecond), Backoff: task.BackoffFixed, Jitter: -1}
			}
		}
		n.shellTask("good", "true")
		n.shellTask("bad", "exit 3", retry(2))
		n.shellTask("late", "sleep 600", retry(1), func(task *task.Task) { task.Timeout = core.Duration(time.Second) })
		n.shellTask("slow", fmt.Sprintf(`b=$(date +%%s.%%N); sleep 1; echo "$BELFRY_JOB_ID $b $(date +%%s.%%N)" >>%s`, ran))
		n.shellTask("never", "true")
		var ids []int64
		asked := float64(time.Now().UnixMicro()) / 1e6
		for task, jobs := range map[string]int{"good": good, "bad": bad, "late": late, "slow": slow} {
			for range jobs {
				ids = append(ids, n.enqueue(task).ID)
			}
		}
		withdrawn := n.enqueue("never", func(j *job.NewJob) { j.Delay = core.Duration(time.Hour) })
		must[view.Selected](t)(n.api.CancelJobs(t.Context(), "default", view.Selection{IDs: []int64{withdrawn.ID}}))
		for _, id := range ids {
			n.becomes(id, patience, job.Succeeded, job.Failed)
		}
		seen := float64(time.Now().UnixMicro()) / 1e6

		outcomes := map[job.Outcome]int{}
		var lasted float64
		for _, id := range ids {
			for _, a := range n.attempts(id) {
				outcomes[a.Outcome]++
				lasted += a.EndedAt.Sub(a.BeganAt()).Seconds()
			}
		}
		for outcome, want := range map[job.Outcome]int{job.OutcomeOK: good + slow, job.OutcomeError: 2 * bad, job.OutcomeTimeout: late} {
			if outcomes[outcome] != want {
				t.Errorf("recorded attempts with outcome %[2]s: got %[1]d, want %[3]d", outcomes[outcome], outcome, want)
			}
		}
		text, err := os.ReadFile(ran)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var id int64
			var from, to float64
			if _, err := fmt.Sscan(line, &id, &from, &to); err != nil {
				t.Fatalf("line %q of the jobs' own record: %v", line, err)
			}
			a := n.attempts(id)[0]
			began, ended := float64(a.BeganAt().UnixMicro())/1e6, float64(a.EndedAt.UnixMicro())/1e6
			// A program may be slow to start and to be reaped, but it ran within its attempt, and that within the test.
			if began > from+0.05 || ended < to-0.05 || began < asked-0.05 || ended > seen+0.05 {
				t.Errorf("job %d ran from %f to %f, between %f and %f: got an attempt from %f to %f, want one that covers the run", id, from, to, asked, seen, began, ended)
			}
		}

		for state, want := range map[job.State]int{job.Succeeded: good + slow, job.Failed: bad + late, job.Canceled: 1, job.Ready: 0, job.Running: 0} {
			count := must[job.Count](t)(n.api.CountJobs(t.Context(), job.Filter{States: []job.State{state}}, view.CountOptions{}))
			if count.Count != want {
				t.Errorf("counted jobs in state %[2]s: got %[3]d, want %[1]d", want, state, count.Count)
			}
		}

		page := get(t, n.url+"/metrics", s.token())
		if page.StatusCode != http.StatusOK {
			t.Fatal(page.StatusCode, page.Body)
		}
		sum := func(name string, labels ...string) (total float64) {
			for line := range strings.Lines(page.Body) {
				m := regexp.MustCompile(`^` + name + `\{(.*)\} (\S+)\s*$`).FindStringSubmatch(line)
				if m == nil || !strings.Contains(m[1], `queue="default"`) {
					continue
				}
				fits := true
				for _, l := range labels {
					fits = fits && strings.Contains(m[1], l)
				}
				if v, err := strconv.ParseFloat(m[2], 64); err == nil && fits {
					total += v
				}
			}
			return total
		}
		attempts := float64(good + 2*bad + late + slow)
		for _, c := range []struct {
			what   string
			labels []string
			want   float64
		}{
			{"belfry_attempts_total", nil, attempts},
			{"belfry_attempts_total", []string{`outcome="ok"`}, good + slow},
			{"belfry_attempts_total", []string{`outcome="error"`}, 2 * bad},
			{"belfry_attempts_total", []string{`outcome="timeout"`}, late},
			{"belfry_jobs_settled_total", []string{`state="succeeded"`}, good + slow},
			{"belfry_jobs_settled_total", []string{`state="failed"`}, bad + late},
			{"belfry_jobs_claimed_total", nil, attempts},
			{"belfry_start_lag_seconds_count", nil, attempts},
			{"belfry_attempt_seconds_count", nil, attempts},
		} {
			if got := sum(c.what, c.labels...); got != c.want {
				t.Errorf("metric %s%v: got %v, want %v", c.what, c.labels, got, c.want)
			}
		}
		if got := sum("belfry_attempt_seconds_sum"); math.Abs(got-lasted) > 0.2*lasted {
			t.Errorf("run time by the metrics: got %.2f s, want that of the record, %.2f s", got, lasted)
		}
	})
}
