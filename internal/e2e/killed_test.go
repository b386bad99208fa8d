//go:build linux || darwin

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A node that claims many short jobs ahead is killed. Each job has a single attempt.
// Jobs without a slot keep their attempt and run later. The outcome of the others is
// unknown, so they fail.
func TestJobsThatWaitedInAKilledNodeRunLater(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		const jobs, slots = 300, 10
		file := filepath.Join(s.dir, "ran")
		serve := func() *node { return s.serve("--allow-commands", "--session-ttl", s.ttl()) }
		one := serve()
		one.shellTask("line", `echo "$BELFRY_JOB_ID" >>`+file, func(task *task.Task) { task.Retry.MaxAttempts = 1 })
		ns := make([]job.NewJob, jobs)
		for i := range ns {
			ns[i].Task = "line"
		}
		made := must[[]job.Enqueued](t)(one.api.Enqueue(t.Context(), ns))
		lines := func() (all []string) {
			text, _ := os.ReadFile(file)
			return strings.Fields(string(text))
		}
		eventually(t, patience, "many jobs have run", func() (bool, string) {
			n := len(lines())
			return n >= jobs/10, strconv.Itoa(n) + " have"
		})
		one.kill()

		two := serve()
		eventually(t, 4*patience, "all jobs have ended", func() (bool, string) {
			left := allJobs(t, two.api, job.Filter{States: []job.State{job.Scheduled, job.Ready, job.Running}})
			return len(left) == 0, strconv.Itoa(len(left)) + " are left"
		})
		times := map[string]int{}
		for _, id := range lines() {
			times[id]++
		}
		unknown := 0
		for _, e := range made {
			id := strconv.FormatInt(e.Job.ID, 10)
			j := must[job.Job](t)(two.api.Job(t.Context(), "default", e.Job.ID))
			switch {
			case times[id] > 1:
				t.Errorf("runs of job %s with a single attempt: got %d", id, times[id])
			case times[id] == 0 && j.State == job.Failed:
				unknown++
			case times[id] == 0:
				t.Errorf("job %s: got state %s without a run", id, j.State)
			}
		}
		if unknown > slots {
			t.Errorf("failed jobs that have not run: got %d, want at most the %d slots", unknown, slots)
		}
	})
}

// A node on SQLite is killed and started again. The lock of the file shows that the former node is dead, so no job waits for
// the end of its session of ten minutes.
func TestARestartRunsTheJobsOfAKilledNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	serve := func() *node { return s.serve("--allow-commands", "--session-ttl", "10m") }
	one := serve()
	one.shellTask("long", "echo $BELFRY_ATTEMPT >>"+filepath.Join(s.dir, "ran")+"; while [ ! -e "+filepath.Join(s.dir, "go")+" ]; do sleep 0.05; done", func(tk *task.Task) {
		tk.Retry = task.Retry{MaxAttempts: 2, Delay: core.Duration(10 * time.Millisecond)}
	})
	j := one.enqueue("long")
	s.writes("ran", "1")
	one.kill()
	two := serve()
	s.writes("ran", "2")
	s.write("go", "")
	two.becomes(j.ID, patience, job.Succeeded)
	attempts := two.attempts(j.ID)
	if len(attempts) != 2 || attempts[0].Outcome != job.OutcomeLost || !strings.Contains(attempts[0].Error, "has ended without a word") {
		t.Errorf("attempts: got %+v", attempts)
	}
}
