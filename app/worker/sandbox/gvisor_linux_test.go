package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// Most of what holds in gVisor is tested with the other worlds: alsoInGVisor.

func inGVisor(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	needsRoot(t)
	in(t, []world{gvisor}, test)
}

func TestRootGVisorIsAnotherKernel(t *testing.T) {
	inGVisor(t, func(t *testing.T, w world) {
		machine, err := os.ReadFile("/proc/version")
		must(t, err)
		a := w.attack("")
		a.Argv = []string{"/bin/cat", "/proc/version"}
		if r := a.run(t, w); r.ExitCode != 0 || a.out.Len() == 0 || a.out.String() == string(machine) || r.Applied.Network != "loopback" {
			t.Errorf("%+v\n%s", r, a.out.String())
		}
		// What it asks of that kernel it may well get: a namespace, a trace, its log.
		b := w.attack("read", "/etc/shadow", secret(t), "/root/.bashrc", "/dev/mem", "/proc/kcore", "/dev/kmsg", filepath.Join(w.options().StateDir, "slot-0"))
		b.holds(t, w, 7)
		nothingIsLeft(t, w)
	})
}

// Nobody in a program has to listen for it.
func TestRootGVisorStops(t *testing.T) {
	inGVisor(t, func(t *testing.T, w world) {
		a := w.attack("")
		a.Argv = []string{"/bin/sh", "-c", "echo ready; exec sleep 120"}
		started := make(signalled, 1)
		a.Stdout = started
		r := a.start(t, w)
		<-started
		r.Stop(time.Hour)
		if result, err := r.Wait(); err != nil || result.Signal != "SIGTERM" {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// signalled is a writer that tells of the first that was written.
type signalled chan struct{}

func (s signalled) Write(b []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(b), nil
}

func TestRootGVisorFaults(t *testing.T) {
	inGVisor(t, func(t *testing.T, w world) {
		a := w.attack("echo")
		a.Dir = "/nothing/there"
		a.Argv[0] = filepath.Dir(hostile) + "/nothing"
		_, err := a.start(t, w).Wait()
		if fault := (*sandbox.Fault)(nil); !errors.As(err, &fault) || fault.Step != "gvisor" {
			t.Errorf("%v\n%s", err, a.out.String())
		}
		nothingIsLeft(t, w)
	})
}

func TestRootGVisorHoldsLimits(t *testing.T) {
	inGVisor(t, func(t *testing.T, w world) {
		forks := w.attack("forks")
		if r := forks.run(t, w); strings.Contains(forks.out.String(), "ESCAPED") || r.PIDsRefused == 0 && !r.OOM {
			t.Errorf("%+v\n%s", r, forks.out.String())
		}
		fill := w.attack("fill", "32")
		fill.Limits.Tmp = 8 << 20
		fill.holds(t, w, 1)
		file := w.attack("fill", "8")
		file.Limits.FileSize = 1 << 20
		if r := file.run(t, w); strings.Contains(file.out.String(), "ESCAPED") {
			t.Errorf("%+v\n%s", r, file.out.String())
		}
		nothingIsLeft(t, w)
	})
}
