package program_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Package sandbox tests the isolation of gVisor. These tests cover the executor.
func TestAProgramRunsInGVisor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *program.Options) {
		o.MinIsolation, o.Sandbox.Runsc = task.IsolationGVisor, "runsc" // make setup installs it
	})
	p := w.being(t, "files", "3")
	p.MinIsolation = task.IsolationGVisor
	r := w.run(t, p)
	if r.Outcome != job.OutcomeOK || r.Sandboxed.Isolation != task.IsolationGVisor || len(r.Sandboxed.Outputs) != 3 || w.kept["f002"] != "2" {
		t.Errorf("%+v %+v\n%s", r.Finish, r.Sandboxed, r.err)
	}
	if r := w.run(t, w.being(t, "exit", "3")); r.Error != "exit code 3: the last word" {
		t.Errorf("%+v", r.Finish)
	}
	p = w.being(t, "fill", "output")
	p.Limits.OutputSize = 1 << 20
	if r := w.run(t, p); r.Outcome != job.OutcomeError || !strings.Contains(r.Error, "no space left") {
		t.Errorf("%+v", r.Finish)
	}
}
