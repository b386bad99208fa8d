package program_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// inC is the hostile program of the sandbox's own tests, as an artifact.
func (w *world) inC(t *testing.T, name string) task.Program {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "hostile")
	out, err := exec.Command("cc", "-pthread", "-o", bin, "../sandbox/testdata/hostile.c").CombinedOutput()
	if err != nil {
		t.Fatalf("a C compiler is needed (apt-get install gcc libc6-dev): %v\n%s", err, out)
	}
	p := w.add(t, bin)
	p.Args = []string{name, w.mark()}
	return p
}

// A program of C is linked dynamically: it gets its loader, and the filter
// holds for its calls as for Go's.
func TestForbiddenSystemCallsAreNamedInTheError(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, w *world) {
		r := w.run(t, w.inC(t, "int80"))
		if r.Signal != "SIGSYS" || !strings.HasPrefix(r.Error, "killed by SIGSYS: it made a system call that the sandbox forbids") {
			t.Errorf("%+v", r.Finish)
		}
	})
}

// Who hides from whoever looks for processes is gone all the same when the
// attempt is, and its result is told.
func TestHiddenProcessesDoNotOutliveTheAttempt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leader", "silent", "comet"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := readyWriter{cancel: cancel}
			p := w.inC(t, name)
			p.KillGrace = core.Duration(1)
			f := direct(ctx, w.exe, task.Task{Name: "prog", Program: &p}, &out)
			if f.Outcome != job.OutcomeCanceled && (name != "comet" || f.Outcome != job.OutcomeOK) {
				t.Errorf("%+v", f)
			}
			w.nothingIsLeft(t)
		})
	}
}

// BenchmarkOutput is how fast a program is read that writes more than is kept.
// 10 GB, and the memory that takes: -benchtime 160x -benchmem.
func BenchmarkOutput(b *testing.B) {
	const each = 64 << 20
	w := newWorld(b)
	p := w.being(b, "flood", strconv.FormatInt(int64(b.N)*each, 10))
	p.Limits.Log = 1 << 20
	b.SetBytes(each)
	b.ResetTimer()
	if r := w.run(b, p); r.Outcome != job.OutcomeOK {
		b.Fatal(r)
	}
}
