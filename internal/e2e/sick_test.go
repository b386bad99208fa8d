//go:build linux || darwin

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A node without free file descriptors fails each job at once, so it is always free
// and would claim the most. It hands back the jobs that it cannot begin and stops
// claiming their kind, and a healthy worker runs them.
func TestANodeThatIsOutOfFilesLeavesTheJobsToOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	s.program = filepath.Join(s.dir, "sick")
	// Another process copies the program: a program that is open for writing in some process, such as a fork of this one, cannot be started.
	const script = `printf '#!/bin/sh\nulimit -n 40\nexec %s "$@"\n' "$1" >sick && chmod 700 sick`
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", belfryPath())
	write.Dir = s.dir
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("copy of the program: %v: %s", err, out)
	}
	sick := s.serve("--allow-commands")
	secret := s.run("token", "create", "far", "--scope", "worker", "--for", "*").stdout
	s.write("worker.token", strings.TrimSpace(secret))
	argv := []string{belfryPath(), "worker", "--server", sick.url, "--token-file", filepath.Join(s.dir, "worker.token"), "--name", "healthy", "--allow-commands"}
	launch(s.t, "worker", s.dir, s.environ(), argv, "")
	s.awaits("healthy +active", "worker", "list")
	sick.shellTask("work", "sleep 0.1", func(v *task.Task) { soon("work", v) })
	ns := make([]job.NewJob, 150)
	for i := range ns {
		ns[i].Task = "work"
	}
	made := must[[]job.Enqueued](t)(sick.api.Enqueue(t.Context(), ns))
	handedBack := 0
	for _, e := range made {
		if j := sick.becomes(e.Job.ID, patience, job.Succeeded, job.Failed); j.State == job.Failed {
			t.Fatalf("job %d failed: %s", j.ID, j.Error)
		}
		for _, a := range sick.attempts(e.Job.ID) {
			switch a.Outcome {
			case job.OutcomeHandedBack:
				handedBack++
			case job.OutcomeOK:
			default:
				t.Errorf("outcome of an attempt of job %d: got %s: %s", e.Job.ID, a.Outcome, a.Error)
			}
		}
	}
	// A node without rests would hand back thousands of jobs while the other works. The number of tries depends on the duration.
	if handedBack == 0 || handedBack > len(made) {
		t.Errorf("attempts handed back: got %d", handedBack)
	}
	sick.logs(patience, "this machine cannot start jobs of this kind, handing them back")
}
