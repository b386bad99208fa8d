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

// A node that is out of file descriptors fails at once whatever it begins, so it
// is always free and would take the most. It hands back what it cannot begin,
// leaves the kind alone, and a healthy worker does the work.
func TestANodeThatIsOutOfFilesLeavesTheJobsToOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	s.program = filepath.Join(s.dir, "sick")
	// By another process: a program that some process has open to write, as one that this one forks at the same time has, cannot be started.
	const script = `printf '#!/bin/sh\nulimit -n 40\nexec %s "$@"\n' "$1" >sick && chmod 700 sick`
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", belfryPath())
	write.Dir = s.dir
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
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
				t.Errorf("job %d has an attempt that ended %s: %s", e.Job.ID, a.Outcome, a.Error)
			}
		}
	}
	// A node that did not rest would hand back thousands while the other works; how often it tries depends on how long that takes.
	if handedBack == 0 || handedBack > len(made) {
		t.Errorf("%d attempts were handed back", handedBack)
	}
	sick.logs(patience, "this machine cannot begin jobs of this kind, handing them back")
}
