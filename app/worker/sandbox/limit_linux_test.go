package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

func TestAForkBombStops(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		if w.tier == sandbox.Confined && !w.grouped() && promised() == sandbox.Confined {
			wantUnlimited(t, w, "pids")
			return
		}
		r := w.attack("forks").holds(t, w, 1)
		if w.grouped() && r.PIDsRefused == 0 {
			t.Errorf("refused forks were not counted: %+v", r)
		}
	})
}

// wantUnlimited wants that a limit which nothing holds is shown as such, and
// that whoever needs it is refused.
func wantUnlimited(t *testing.T, w world, name string) {
	t.Helper()
	for _, l := range w.attack("echo").run(t, w).Applied.Limits {
		if l.Name == name && l.By != "" {
			t.Errorf("%+v", l)
		}
	}
	a := w.attack("echo")
	a.Need = []sandbox.Layer{sandbox.LayerPIDs}
	if _, err := w.open(t).Start(t.Context(), a.Spec); !isRefusal(err) {
		t.Errorf("%v", err)
	}
}

func TestAMemoryBombStops(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("memory")
		a.Limits.Memory = 64 << 20
		r := a.run(t, w)
		if strings.Contains(a.out.String(), "ESCAPED") || r.ExitCode == 0 {
			t.Fatalf("%+v\n%s", r, a.out.String())
		}
		if !w.grouped() {
			return // each process is held for itself, and finds out by itself
		}
		if !r.OOM || r.Signal != "SIGKILL" || r.ExitCode != -1 || r.Usage.MemoryPeak < 32<<20 || r.Usage.MemoryPeak > 65<<20 {
			t.Errorf("%+v\n%s", r, a.out.String())
		}
	})
}

// Files for the time of a run are memory where root bounds them, which is why
// they have a limit of their own.
func TestTmpFillsUp(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		if os.Geteuid() != 0 && w.tier < sandbox.Namespaces {
			a := w.attack("fill-and-stay", "32")
			a.Limits.Tmp = 8 << 20
			if r := a.run(t, w); !r.TmpOver || r.Signal != "SIGKILL" {
				t.Errorf("%+v\n%s", r, a.out.String())
			}
			nothingIsLeft(t, w)
			return
		}
		a := w.attack("fill", "32")
		a.Limits.Tmp = 8 << 20
		a.holds(t, w, 1)
		if !strings.Contains(a.out.String(), "no space left") {
			t.Error(a.out.String())
		}
		b := w.attack("names", "50000")
		b.Limits.Tmp = 8 << 20
		b.holds(t, w, 1)
		nothingIsLeft(t, w)
	})
}

func TestAFileHasALimit(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("fill", "8")
		a.Limits.FileSize = 1 << 20
		r := a.run(t, w)
		// Go programs see the error, others get SIGXFSZ.
		if strings.Contains(a.out.String(), "ESCAPED") {
			t.Errorf("%+v\n%s", r, a.out.String())
		}
	})
}

// The kernel keeps to it: first SIGXCPU, a second later SIGKILL. To see it do so takes
// a whole second of a processor, which is long on a machine that is busy.
func TestProcessorTimeHasALimit(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("processor-time")
		a.Limits.CPUTime = 1500 * time.Millisecond
		if r := a.run(t, w); a.out.String() != "2 3\n" {
			t.Errorf("%+v\n%s", r, a.out.String())
		}
	})
}

// The kernel enforces the limits of the run's group.
func TestAShareOfAProcessor(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		if !w.grouped() {
			return
		}
		a := w.attack("sleep")
		a.Limits.CPU = 0.5
		r := a.start(t, w)
		var said []string
		for _, dir := range recorded(t, w.options().StateDir) {
			for _, file := range []string{"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"} {
				text, _ := os.ReadFile(filepath.Join(dir, file))
				said = append(said, strings.Fields(string(text))...)
			}
		}
		if !slices.Equal(said, []string{"50000", "100000"}) {
			t.Error(said)
		}
		r.Kill()
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestLimitsNameTheirMechanism(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("echo", "hello")
		a.Limits.CPU = 1
		r := a.run(t, w)
		by := map[string]string{}
		for _, l := range r.Applied.Limits {
			by[l.Name] = l.By
		}
		want := "rlimit"
		if w.grouped() {
			want = "cgroup"
		}
		if !strings.HasPrefix(by["memory"], want) || by["open files"] != "rlimit" || by["file size"] != "rlimit" {
			t.Errorf("%+v", by)
		}
		if strings.HasPrefix(by["cpu"], "cgroup") != w.grouped() || (by["tmp"] == "tmpfs") != (w.tier == sandbox.Namespaces || os.Geteuid() == 0) {
			t.Errorf("%+v", by)
		}
	})
}

// burnt is the time of a processor that the attack of this name uses.
const burnt = 300 * time.Millisecond

// The usage of a process counts even if its parent did not wait for it.
func TestProcessorTimeIsThatOfAllProcesses(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		if !w.grouped() {
			return // nothing counts it
		}
		r := w.attack("burn-unseen").run(t, w)
		if used := r.Usage.User + r.Usage.System; r.ExitCode != 0 || used < burnt {
			t.Errorf("%s were counted, and %s were used: %+v", used, burnt, r)
		}
	})
}
